# verdict: error
# diagnosis: the step was recorded without a warm-up: what it does only in its first runs is refused, or ends up in the graph
class CapturedStep:
    def __init__(self, step, *examples, warmup=2, pool=None):
        self.buffers = tuple(e.clone() for e in examples)
        pool = new_pool(self.buffers[0].device) if pool is None else pool
        self.graph = record(step, *self.buffers, pool=pool)

    def __call__(self, *inputs):
        copy_in(self.buffers, inputs)
        return tree_map_only(torch.Tensor, torch.clone, self.graph.replay())
