# verdict: wrong answer
# diagnosis: only the part of a cache that was written first was put back: copy all of its storage
_right = Tape


class Tape(_right):
    def _remember(self, tensor):
        address = address_of(tensor)
        if address not in self._own and address not in self._before:
            self._before[address] = tensor, tensor.clone()
