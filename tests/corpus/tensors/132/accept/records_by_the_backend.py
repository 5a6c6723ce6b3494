# verdict: accepted
# goes one floor below record: to the backend that captures on this device
# @accept/plain.py@
from mini_llm.graphs import backend_for


class CapturedStep(CapturedStep):
    def __init__(self, step, *examples, warmup=2, pool=None):
        self.buffers = [torch.empty_like(e, memory_format=torch.contiguous_format) for e in examples]
        copy_in(self.buffers, examples)
        backend = backend_for(examples[0].device)
        pool = pool or backend.new_pool(examples[0].device)
        warm_up(step, self.buffers, warmup, pool)
        with torch.no_grad():
            self.output, self.run = backend.record(step, self.buffers, pool, "global", ())

    def __call__(self, *inputs):
        copy_in(self.buffers, inputs)
        self.run()
        return tree_map_only(torch.Tensor, torch.clone, self.output)
