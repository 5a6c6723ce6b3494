# verdict: wrong answer
# diagnosis: a cache was copied at each write, and the last copy was put back: copy it before the first
_right = Tape


class Tape(_right):
    def _remember(self, tensor):
        memory = tensor.untyped_storage()
        if address_of(tensor) not in self._own:
            self._before[len(self._before)] = memory, memory.clone()
