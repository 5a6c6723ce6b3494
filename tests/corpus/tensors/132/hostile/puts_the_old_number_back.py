# verdict: wrong answer
# an eager step that keeps the attributes that are numbers and puts them back for each run
# @reject/eager.py@
class CapturedStep(CapturedStep):
    def __init__(self, step, *examples, warmup=2, pool=None):
        super().__init__(step, *examples, warmup=warmup, pool=pool)
        self.numbers = {k: v for k, v in getattr(step, "__dict__", {}).items() if type(v) in (int, float)}

    def __call__(self, *inputs):
        now = dict(getattr(self.step, "__dict__", {}))
        try:
            getattr(self.step, "__dict__", {}).update(self.numbers)
            return super().__call__(*inputs)
        finally:
            getattr(self.step, "__dict__", {}).update(now)
