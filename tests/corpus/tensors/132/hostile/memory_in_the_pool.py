# verdict: memory; on CUDA: error
# the pool lends more than there is
# @reject/eager.py@
class CapturedStep(CapturedStep):
    def __init__(self, step, *examples, warmup=2, pool=None):
        super().__init__(step, *examples, warmup=warmup, pool=pool)
        self.kept = [self.pool.lend(1 << 30) for _ in range(64)]
