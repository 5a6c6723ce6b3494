# verdict: wrong answer
# diagnosis: relaxed() changed the descriptor itself; return a new one
@dataclass(unsafe_hash=True)
class BatchDescriptor:
    num_tokens: int
    num_reqs: int | None = None
    uniform: bool = False
    has_lora: bool = False

    def relaxed(self):
        self.num_reqs, self.uniform = None, False
        return self
