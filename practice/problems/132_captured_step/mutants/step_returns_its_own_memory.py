# verdict: wrong answer
# diagnosis: the graph's own memory was returned: the next call overwrites a result that the caller kept
class CapturedStep:
    def __init__(self, step, *examples, warmup=2, pool=None):
        self.buffers = tuple(e.clone() for e in examples)
        self.graph = capture(step, *self.buffers, warmup=warmup, pool=pool)

    def __call__(self, *inputs):
        copy_in(self.buffers, inputs)
        return self.graph.replay()
