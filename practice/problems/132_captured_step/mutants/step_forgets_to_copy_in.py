# verdict: wrong answer
# diagnosis: the inputs of the call were not copied in: the graph computed with what was in its buffers before
class CapturedStep:
    def __init__(self, step, *examples, warmup=2, pool=None):
        self.buffers = tuple(e.clone() for e in examples)
        self.graph = capture(step, *self.buffers, warmup=warmup, pool=pool)

    def __call__(self, *inputs):
        if len(inputs) != len(self.buffers) or any(
            i.shape != b.shape or i.dtype != b.dtype for i, b in zip(inputs, self.buffers, strict=True)
        ):
            copy_in(self.buffers, inputs)
        return tree_map_only(torch.Tensor, torch.clone, self.graph.replay())
