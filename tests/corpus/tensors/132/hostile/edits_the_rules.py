# verdict: wrong answer; on CUDA: error
# host reads pass, and the step is recorded without a warm-up
# @accept/plain.py@
from mini_llm import capture_rules

capture_rules.broken_rule = lambda *args, **kwargs: None
capture_rules.HOST_READS = set()


class CapturedStep(CapturedStep):
    def __init__(self, step, *examples, warmup=2, pool=None):
        super().__init__(step, *examples, warmup=0, pool=pool)
