# verdict: wrong answer
# diagnosis: the result was returned without a replay: until the first one it holds garbage, and afterwards old numbers
class CapturedStep:
    def __init__(self, step, *examples, warmup=2, pool=None):
        self.buffers = tuple(e.clone() for e in examples)
        self.graph = capture(step, *self.buffers, warmup=warmup, pool=pool)

    def __call__(self, *inputs):
        copy_in(self.buffers, inputs)
        return tree_map_only(torch.Tensor, torch.clone, self.graph.output)
