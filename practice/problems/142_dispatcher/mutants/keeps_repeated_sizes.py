# verdict: wrong answer
# diagnosis: a size that came twice stands twice in sizes; each stands there once
_Right = CudagraphDispatcher


class CudagraphDispatcher(_Right):
    def __init__(self, mode, sizes, max_num_seqs, query_len=1):
        super().__init__(mode, sizes, max_num_seqs, query_len)
        self.sizes = sorted(sizes)
