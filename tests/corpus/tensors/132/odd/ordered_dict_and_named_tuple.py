# verdict: wrong answer
# containers of other types than the step's
# @accept/plain.py@
from collections import OrderedDict, namedtuple

Result = namedtuple("Result", "value")


class CapturedStep(CapturedStep):
    def __call__(self, *inputs):
        result = super().__call__(*inputs)
        return OrderedDict(result) if isinstance(result, dict) else Result(result)
