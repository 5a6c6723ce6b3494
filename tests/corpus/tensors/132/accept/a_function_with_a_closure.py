# verdict: accepted
# no class at all: a function that returns a function
# @accept/plain.py@
_Class = CapturedStep


def CapturedStep(step, *examples, warmup=2, pool=None):
    captured = _Class(step, *examples, warmup=warmup, pool=pool)
    return lambda *inputs: captured(*inputs)
