# verdict: wrong answer
# diagnosis: calls that write into their arguments were not written down: only those with a new result were
_right = Tape


class Tape(_right):
    def note(self, func, args, kwargs, written, changes_memory=True):
        return super().note(func, args, kwargs, written, changes_memory=False)
