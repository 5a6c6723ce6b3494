# verdict: wrong answer
# diagnosis: memory that the step itself made was copied before a write, and what was kept held it
_right = Tape


class Tape(_right):
    def _remember(self, tensor):
        address, memory = address_of(tensor), tensor.untyped_storage()
        if address not in self._before:
            self._before[address] = memory, memory.clone()
