# verdict: wrong answer
# diagnosis: the step was recorded at the first call and not when the object was made: it has the Python values of that later moment
class CapturedStep:
    def __init__(self, step, *examples, warmup=2, pool=None):
        self.buffers = tuple(e.clone() for e in examples)
        self.pool = new_pool(self.buffers[0].device) if pool is None else pool
        warm_up(step, self.buffers, warmup, self.pool)
        self.step, self.graph = step, None

    def __call__(self, *inputs):
        copy_in(self.buffers, inputs)
        self.graph = self.graph or record(self.step, *self.buffers, pool=self.pool)
        return tree_map_only(torch.Tensor, torch.clone, self.graph.replay())
