# verdict: wrong answer
# diagnosis: each call got the result of the call before: the graph was replayed before the inputs were copied in, or the result was cloned before the replay
class CapturedStep:
    def __init__(self, step, *examples, warmup=2, pool=None):
        self.buffers = tuple(e.clone() for e in examples)
        self.graph = capture(step, *self.buffers, warmup=warmup, pool=pool)

    def __call__(self, *inputs):
        result = tree_map_only(torch.Tensor, torch.clone, self.graph.replay())
        copy_in(self.buffers, inputs)
        return result
