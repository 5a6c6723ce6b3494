# verdict: wrong answer
# diagnosis: tensors deeper in the result were not cloned: the next call overwrites those
def _clone(x):
    return x.clone() if isinstance(x, torch.Tensor) else x


class CapturedStep:
    def __init__(self, step, *examples, warmup=2, pool=None):
        self.buffers = tuple(e.clone() for e in examples)
        self.graph = capture(step, *self.buffers, warmup=warmup, pool=pool)

    def __call__(self, *inputs):
        copy_in(self.buffers, inputs)
        result = self.graph.replay()
        if isinstance(result, dict):
            return {key: _clone(value) for key, value in result.items()}
        if isinstance(result, (list, tuple)):
            return type(result)(map(_clone, result))
        return _clone(result)
