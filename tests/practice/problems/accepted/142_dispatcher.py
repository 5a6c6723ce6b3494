from bisect import bisect_left
from dataclasses import dataclass

from mini_llm.dispatch import CUDAGraphMode as Mode


@dataclass(frozen=True, order=True)
class BatchDescriptor:
    num_tokens: int
    num_reqs: int | None = None
    uniform: bool = False
    has_lora: bool = False

    def relaxed(self):
        return BatchDescriptor(self.num_tokens, has_lora=self.has_lora)


class CudagraphDispatcher:
    def __init__(self, mode, sizes, max_num_seqs, query_len=1):
        self.mode, self.query_len = mode, query_len
        self.sizes = sorted(set(sizes))
        decode, mixed = mode.decode_mode(), mode.mixed_mode()
        requests = [size // query_len for size in self.sizes if size % query_len == 0]
        self.requests = [n for n in requests if n <= max_num_seqs]
        self.keys = {Mode.PIECEWISE: set(), Mode.FULL: set()}
        for size in self.sizes if mixed else []:
            self.keys[mixed].add(BatchDescriptor(size))
        for n in self.requests if decode != mixed else []:
            self.keys[decode].add(BatchDescriptor(n * query_len, n, True))

    def dispatch(self, num_tokens, uniform=False, has_lora=False):
        if num_tokens <= 0:
            raise ValueError("nothing to run")
        runtime = Mode.NONE, BatchDescriptor(num_tokens, None, False, has_lora)
        at = bisect_left(self.sizes, num_tokens)
        if at < len(self.sizes):
            key = BatchDescriptor(self.sizes[at], None, False, has_lora)
            for kind in (Mode.PIECEWISE, Mode.FULL):
                runtime = (kind, key) if key in self.keys[kind] else runtime
        for n in self.requests if uniform else []:
            if n * self.query_len >= num_tokens:
                key = BatchDescriptor(n * self.query_len, n, True, has_lora)
                return (Mode.FULL, key) if key in self.keys[Mode.FULL] else runtime
        return runtime

    def capture_order(self):
        found = [(Mode.PIECEWISE, key) for key in self.keys[Mode.PIECEWISE]]
        found += [(Mode.FULL, key) for key in self.keys[Mode.FULL]]
        return sorted(found, key=lambda pair: (pair[0].value, -pair[1].num_tokens))
