# verdict: wrong answer
# diagnosis: the relaxed key still says num_reqs: batches with other requests would not find it
@dataclass(frozen=True)
class BatchDescriptor:
    num_tokens: int
    num_reqs: int | None = None
    uniform: bool = False
    has_lora: bool = False

    def relaxed(self):
        return replace(self, uniform=False)
