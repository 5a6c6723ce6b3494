# verdict: error
# diagnosis: clone was called on the whole result: a step may return a dict, a list or a tuple
class CapturedStep:
    def __init__(self, step, *examples, warmup=2, pool=None):
        self.buffers = tuple(e.clone() for e in examples)
        self.graph = capture(step, *self.buffers, warmup=warmup, pool=pool)

    def __call__(self, *inputs):
        copy_in(self.buffers, inputs)
        return self.graph.replay().clone()
