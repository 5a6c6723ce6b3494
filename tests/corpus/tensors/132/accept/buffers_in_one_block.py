# verdict: accepted
# all buffers are views into one block of bytes
# @accept/plain.py@
class CapturedStep(CapturedStep):
    def __init__(self, step, *examples, warmup=2, pool=None):
        sizes = [-(-e.numel() * e.element_size() // 64) * 64 for e in examples]
        block = torch.empty(sum(sizes), dtype=torch.uint8, device=examples[0].device)
        self.buffers, start = [], 0
        for example, size in zip(examples, sizes):
            part = block[start : start + example.numel() * example.element_size()]
            self.buffers.append(part.view(example.dtype).view(example.shape).copy_(example))
            start += size
        self.pool = pool or new_pool(examples[0].device)
        warm_up(step, self.buffers, warmup, self.pool)
        self.graph = record(step, *self.buffers, pool=self.pool)
