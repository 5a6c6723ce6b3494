# verdict: wrong answer
# diagnosis: the key under PIECEWISE was looked up before the same key under FULL: FULL comes first, since it launches less
class CudagraphDispatcher:
    def __init__(self, mode, sizes, max_num_seqs, query_len=1):
        self.mode, self.sizes, self.query_len = mode, sorted(set(sizes)), query_len
        self.decode_sizes = [n * query_len for n in range(1, max_num_seqs + 1) if n * query_len in self.sizes]
        self.keys = {CUDAGraphMode.PIECEWISE: set(), CUDAGraphMode.FULL: set()}
        if mode.mixed_mode():
            self.keys[mode.mixed_mode()] = {BatchDescriptor(size) for size in self.sizes}
        if mode.decode_mode() is not mode.mixed_mode():
            self.keys[mode.decode_mode()] = {self.decode_key(size) for size in self.decode_sizes}

    def decode_key(self, size):
        return BatchDescriptor(size, size // self.query_len, True)

    def dispatch(self, num_tokens, uniform=False, has_lora=False):
        size = pad_to(num_tokens, self.sizes)
        if size is None:
            return CUDAGraphMode.NONE, BatchDescriptor(num_tokens, has_lora=has_lora)
        decode_size = pad_to(num_tokens, self.decode_sizes)
        wanted = [(CUDAGraphMode.PIECEWISE, BatchDescriptor(size)), (CUDAGraphMode.FULL, BatchDescriptor(size))]
        if uniform and decode_size is not None:
            wanted.insert(0, (CUDAGraphMode.FULL, self.decode_key(decode_size)))
        for mode, key in wanted:
            key = replace(key, has_lora=has_lora)
            if key in self.keys[mode]:
                return mode, key
        return CUDAGraphMode.NONE, BatchDescriptor(num_tokens, has_lora=has_lora)

    def capture_order(self):
        modes = (CUDAGraphMode.PIECEWISE, CUDAGraphMode.FULL)
        return [(m, k) for m in modes for k in sorted(self.keys[m], key=lambda k: -k.num_tokens)]
