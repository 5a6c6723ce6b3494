# verdict: wrong answer
# diagnosis: what attention gave was bound to a name; the next graph knows an address only, and reads old numbers there
# on a GPU also: captured_copies_attentions_inputs
class _AttentionCall:
    def __init__(self, run, arguments, result):
        self.run, self.arguments, self.result = run, arguments, result

    def __call__(self):
        self.latest = self.run(*self.arguments)[0]
