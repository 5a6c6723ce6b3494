# verdict: wrong answer
# diagnosis: the list was made from the sizes: a key that was taken out of `keys` must not be captured, and one that was added must
_Right = CudagraphDispatcher


class CudagraphDispatcher(_Right):
    def __init__(self, mode, sizes, max_num_seqs, query_len=1):
        super().__init__(mode, sizes, max_num_seqs, query_len)
        self._planned = super().capture_order()

    def capture_order(self):
        return self._planned
