# verdict: wrong answer
# an eager step that poses as a graph: warm-up, buffers and clones as they should be; other files begin with it
# @accept/plain.py@
class CapturedStep:
    def __init__(self, step, *examples, warmup=2, pool=None):
        self.step, self.buffers = step, [e.clone() for e in examples]
        self.pool = new_pool(self.buffers[0].device) if pool is None else pool
        warm_up(step, self.buffers, warmup, self.pool)

    def __call__(self, *inputs):
        copy_in(self.buffers, inputs)
        return tree_map_only(torch.Tensor, torch.clone, self.step(*self.buffers))
