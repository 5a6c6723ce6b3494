# verdict: wrong answer
# diagnosis: attention reads copies made at capture; it must read what the graph before has just written, where it wrote it
class _AttentionCall:
    def __init__(self, run, arguments, result):
        self.run, self.arguments, self.result = run, [a.clone() for a in arguments], result

    def __call__(self):
        self.result.copy_(self.run(*self.arguments)[0])
