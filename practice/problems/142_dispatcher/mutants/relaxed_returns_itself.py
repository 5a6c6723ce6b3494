# verdict: wrong answer
# diagnosis: relaxed() handed the descriptor back as it was
@dataclass(frozen=True)
class BatchDescriptor:
    num_tokens: int
    num_reqs: int | None = None
    uniform: bool = False
    has_lora: bool = False

    def relaxed(self):
        return self
