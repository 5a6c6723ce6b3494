# verdict: wrong answer
# diagnosis: what the step wrote into memory of others was not put back after the recording: a cache is one step ahead
_right = Tape


class Tape(_right):
    def _remember(self, tensor):
        pass
