# verdict: wrong answer
# a list in itself
# @accept/plain.py@
class CapturedStep(CapturedStep):
    def __call__(self, *inputs):
        nest = [super().__call__(*inputs)]
        nest.append(nest)
        return nest
