# verdict: wrong answer
# diagnosis: the examples themselves serve as buffers, or the warm-up ran on them: the caller's tensors are written to; make copies, and use only those
class CapturedStep:
    def __init__(self, step, *examples, warmup=2, pool=None):
        self.buffers = examples
        self.graph = capture(step, *self.buffers, warmup=warmup, pool=pool)

    def __call__(self, *inputs):
        copy_in(self.buffers, inputs)
        return tree_map_only(torch.Tensor, torch.clone, self.graph.replay())
