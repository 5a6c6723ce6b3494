# verdict: wrong answer
# diagnosis: the list of sizes that was passed is sorted in place; it belongs to the caller, who may use it in its order
_Right = CudagraphDispatcher


class CudagraphDispatcher(_Right):
    def __init__(self, mode, sizes, max_num_seqs, query_len=1):
        sizes.sort()
        super().__init__(mode, sizes, max_num_seqs, query_len)
