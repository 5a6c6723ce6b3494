# verdict: wrong answer
# diagnosis: the relaxed key lost has_lora: a graph without adapters would serve a batch with them
@dataclass(frozen=True)
class BatchDescriptor:
    num_tokens: int
    num_reqs: int | None = None
    uniform: bool = False
    has_lora: bool = False

    def relaxed(self):
        return BatchDescriptor(self.num_tokens)
