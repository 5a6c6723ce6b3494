# verdict: wrong answer
# diagnosis: what attention gives is added to its result of the replay before; it must take its place
class _AttentionCall:
    def __init__(self, run, arguments, result):
        self.run, self.arguments, self.result = run, arguments, result

    def __call__(self):
        self.result.add_(self.run(*self.arguments)[0])
