# verdict: wrong answer
# diagnosis: the step's Python code ran again in the call, with the Python values of now: a call replays the graph and keeps those of the recording
class CapturedStep:
    def __init__(self, step, *examples, warmup=2, pool=None):
        self.step, self.buffers = step, [e.clone() for e in examples]
        warm_up(step, self.buffers, warmup, new_pool(self.buffers[0].device) if pool is None else pool)

    def __call__(self, *inputs):
        copy_in(self.buffers, inputs)
        return tree_map_only(torch.Tensor, torch.clone, self.step(*self.buffers))
