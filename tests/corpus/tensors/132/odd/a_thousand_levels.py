# verdict: wrong answer
# the right result, a thousand dicts deep
# @accept/plain.py@
class CapturedStep(CapturedStep):
    def __call__(self, *inputs):
        nest = super().__call__(*inputs)
        for _ in range(1000):
            nest = {"total": nest}
        return nest
