# verdict: wrong answer
# diagnosis: attention runs at the first replay and never again; it must run at each replay, with the values of now
class _AttentionCall:
    def __init__(self, run, arguments, result):
        self.run, self.arguments, self.result = run, arguments, result

    def __call__(self):
        if not hasattr(self, "done"):
            self.result.copy_(self.run(*self.arguments)[0])
        self.done = True
