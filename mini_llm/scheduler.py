"""Who runs in the next step: continuous batching with chunked prefill over the blocks of a paged cache.

A request is a list of tokens, of which the first `computed` are in the cache. Whatever is not there yet has to
run: a prompt's tokens at first, in chunks where they are many, then each new token. So one rule serves prefill
and decode, and both share a step. Requests join when blocks and a place are free, and leave when they end.

Blocks are taken as a request grows, not in advance for the longest answer it may give. Far more requests fit
that way, and now and then too many: then the youngest gives its blocks back and later computes its tokens
again (preemption by recompute). The oldest always gets what it needs, so every request ends.
"""

from collections import deque
from dataclasses import dataclass, field

from mini_llm.paged import BlockPool
from mini_llm.sampling import SamplingParams


@dataclass(eq=False)
class Request:
    """One prompt and its answer so far."""

    id: int
    tokens: list[int]  # the prompt, then what was generated
    params: SamplingParams
    end_tokens: frozenset[int] = frozenset()
    prompt_len: int = 0  # set by what `tokens` holds at first
    computed: int = 0  # so many of `tokens` are in the cache
    blocks: list[int] = field(default_factory=list)
    finish_reason: str | None = None  # "stop", "length", "context", or "abort"; None while it runs
    preemptions: int = 0

    def __post_init__(self):
        self.prompt_len = len(self.tokens)
        self.draws = self.params.draws()  # its own random numbers, whoever is in the batch

    @property
    def new_tokens(self) -> list[int]:
        return self.tokens[self.prompt_len :]

    @property
    def waits_for_token(self) -> bool:
        """Whether all its tokens are in the cache, so that the last one's logits give the next."""
        return self.computed == len(self.tokens)


class Scheduler:
    """Chooses the requests and tokens of each step: at most `max_num_seqs` requests, `max_num_batched_tokens` tokens.

    A request may grow to `max_model_len` tokens, prompt included. `num_blocks` counts the null block, which
    no request gets.
    """

    def __init__(
        self, num_blocks: int, block_size: int, max_num_seqs: int, max_num_batched_tokens: int, max_model_len: int
    ):
        self.pool = BlockPool(num_blocks)
        self.pool.allocate(1)  # block 0, the null block, stays out of all tables but those of padding
        self.usable_blocks = self.pool.num_free()
        self.block_size, self.max_model_len = block_size, max_model_len
        self.max_num_seqs, self.max_num_batched_tokens = max_num_seqs, max_num_batched_tokens
        self.waiting: deque[Request] = deque()
        self.running: list[Request] = []  # oldest first

    def add(self, request: Request) -> None:
        """Put `request` at the end of the line. ValueError when it could never run to its end."""
        n = request.prompt_len
        if n == 0:
            raise ValueError("the prompt is empty")
        if n >= self.max_model_len:
            raise ValueError(
                f"a prompt of {n} tokens leaves no room for an answer: the context holds {self.max_model_len} tokens "
                "(max_model_len)"
            )
        longest = min(n + request.params.max_new_tokens, self.max_model_len)
        needed = self.blocks_for(longest)
        if needed > self.usable_blocks:
            raise ValueError(
                f"a prompt of {n} tokens with max_new_tokens={request.params.max_new_tokens} may need {needed} blocks, "
                f"and the cache has {self.usable_blocks}: shorten one of them, or give the cache more blocks"
            )
        self.waiting.append(request)

    def blocks_for(self, num_tokens: int) -> int:
        return -(-num_tokens // self.block_size)

    def schedule(self) -> list[tuple[Request, int]]:
        """The requests of the next step and how many tokens of each, decodes first; blocks are allotted."""
        budget, batch = self.max_num_batched_tokens, []
        # Oldest first: whoever still prefills joined last, and stands after those that decode.
        for request in list(self.running):
            n = min(len(request.tokens) - request.computed, budget)
            if n == 0 or request not in self.running:  # preempted for one before it
                continue
            if self._grow(request, request.computed + n):
                batch.append((request, n))
                budget -= n
        while self.waiting and budget and len(self.running) < self.max_num_seqs:
            request = self.waiting[0]
            # All its blocks, though it may prefill in chunks: or several half-done prompts could block each other.
            blocks = self.pool.allocate(self.blocks_for(len(request.tokens)))
            if blocks is None:  # those behind it wait too, or a long prompt would wait for ever
                break
            request.blocks = blocks
            self.running.append(self.waiting.popleft())
            n = min(len(request.tokens), budget)
            batch.append((request, n))
            budget -= n
        return batch

    def _grow(self, request: Request, num_tokens: int) -> bool:
        """Give `request` blocks for so many tokens, the youngest's if none is free; False if it is the youngest."""
        missing = self.blocks_for(num_tokens) - len(request.blocks)
        while (blocks := self.pool.allocate(max(missing, 0))) is None:
            youngest = self.running[-1]
            self._preempt(youngest)
            if youngest is request:
                return False
        request.blocks += blocks
        return True

    def _preempt(self, request: Request) -> None:
        self._release(request)
        request.preemptions += 1
        self.waiting.appendleft(request)

    def _release(self, request: Request) -> None:
        self.running.remove(request)
        self.pool.free(request.blocks)
        request.blocks, request.computed = [], 0

    def advance(self, batch: list[tuple[Request, int]]) -> None:
        """The step of `batch` has run: its tokens are in the cache now."""
        for request, n in batch:
            request.computed += n

    def append(self, request: Request, token: int) -> None:
        """`token` continues `request`, which ends here if it is told to."""
        request.tokens.append(token)
        if token in request.end_tokens:
            self.finish(request, "stop")
        elif len(request.new_tokens) >= request.params.max_new_tokens:
            self.finish(request, "length")
        elif len(request.tokens) >= self.max_model_len:
            self.finish(request, "context")

    def finish(self, request: Request, reason: str) -> None:
        """Take `request` out, wherever it stands, and free its blocks."""
        if request.finish_reason is not None:
            return
        if request in self.running:
            self._release(request)
        else:
            self.waiting.remove(request)
        request.finish_reason = reason
