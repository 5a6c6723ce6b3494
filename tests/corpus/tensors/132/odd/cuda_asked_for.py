# verdict: error|accepted
# names a device that may not be there
# @accept/plain.py@
class CapturedStep(CapturedStep):
    def __init__(self, step, *examples, warmup=2, pool=None):
        super().__init__(step, *(e.to("cuda") for e in examples), warmup=warmup, pool=pool)
