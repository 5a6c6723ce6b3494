# verdict: wrong answer
# tensors as the keys of a dict
# @accept/plain.py@
class CapturedStep(CapturedStep):
    def __call__(self, *inputs):
        return {inputs[0]: super().__call__(*inputs)}
