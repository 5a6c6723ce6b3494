# verdict: error
# diagnosis: the step was warmed up twice, whatever `warmup` says
_right = CapturedStep


class CapturedStep(_right):
    def __init__(self, step, *examples, warmup=2, pool=None):
        super().__init__(step, *examples, pool=pool)
