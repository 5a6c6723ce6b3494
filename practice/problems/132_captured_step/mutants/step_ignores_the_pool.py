# verdict: wrong answer
# diagnosis: the pool that was given was not used: the step was warmed up or recorded somewhere else
_right = CapturedStep


class CapturedStep(_right):
    def __init__(self, step, *examples, warmup=2, pool=None):
        super().__init__(step, *examples, warmup=warmup)
