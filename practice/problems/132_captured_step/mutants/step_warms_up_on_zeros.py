# verdict: wrong answer
# diagnosis: the buffers do not start with the values of the examples: the warm-up computed with other numbers
class CapturedStep:
    def __init__(self, step, *examples, warmup=2, pool=None):
        self.buffers = tuple(torch.zeros_like(e) for e in examples)
        self.graph = capture(step, *self.buffers, warmup=warmup, pool=pool)

    def __call__(self, *inputs):
        copy_in(self.buffers, inputs)
        return tree_map_only(torch.Tensor, torch.clone, self.graph.replay())
