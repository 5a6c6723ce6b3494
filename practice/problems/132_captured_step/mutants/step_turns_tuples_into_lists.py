# verdict: wrong answer
# diagnosis: tuples in the result came out as lists: each container keeps its type
def _clone(x):
    if isinstance(x, dict):
        return {key: _clone(value) for key, value in x.items()}
    if isinstance(x, (list, tuple)):
        return [_clone(value) for value in x]
    return x.clone() if isinstance(x, torch.Tensor) else x


class CapturedStep:
    def __init__(self, step, *examples, warmup=2, pool=None):
        self.buffers = tuple(e.clone() for e in examples)
        self.graph = capture(step, *self.buffers, warmup=warmup, pool=pool)

    def __call__(self, *inputs):
        copy_in(self.buffers, inputs)
        return _clone(self.graph.replay())
