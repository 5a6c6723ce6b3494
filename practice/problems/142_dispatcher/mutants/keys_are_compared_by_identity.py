# verdict: wrong answer
# diagnosis: equal descriptors are not equal as keys: a set finds the very same object only
@dataclass(frozen=True, eq=False)
class BatchDescriptor:
    num_tokens: int
    num_reqs: int | None = None
    uniform: bool = False
    has_lora: bool = False

    def relaxed(self):
        return BatchDescriptor(self.num_tokens, has_lora=self.has_lora)
