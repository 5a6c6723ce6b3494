# verdict: error|wrong answer
# diagnosis: the step was not told which cache is in use (step.use_cache), and a fused piece writes keys there itself
_right = PiecewiseRunner


class PiecewiseRunner(_right):
    def __init__(self, step, *rest, **options):
        tell, step.use_cache = step.use_cache, lambda kv: None
        super().__init__(step, *rest, **options)
        step.use_cache = tell
