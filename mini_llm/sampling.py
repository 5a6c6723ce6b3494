"""Pick the next token of every request of a batch, each in its own way.

Greedy requests and drawn ones share a batch. A request draws from random numbers of its own, so its seed gives
the same text whoever else is in the batch, and whenever they joined.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

import torch


@dataclass(frozen=True)
class SamplingParams:
    """How a request is answered. ValueError for a number that makes no sense."""

    max_new_tokens: int = 64
    temperature: float = 0.0  # 0: always the likeliest token
    top_p: float = 1.0  # draw from the likeliest tokens of this mass
    seed: int | None = None
    stop_token_ids: tuple[int, ...] = ()  # besides the model's own end tokens
    ignore_eos: bool = False  # go on after the model's own end tokens

    def __post_init__(self):
        if self.max_new_tokens < 1:
            raise ValueError(f"max_new_tokens must be at least 1, not {self.max_new_tokens}")
        if not self.temperature >= 0:
            raise ValueError(f"temperature must be above 0, or 0 for greedy text, not {self.temperature}")
        if not 0 < self.top_p <= 1:
            raise ValueError(f"top_p must be above 0 and at most 1, not {self.top_p}")

    def draws(self) -> Iterator[float]:
        """Random numbers in [0, 1) for the tokens of one request; the same seed gives the same ones."""
        random = Random(self.seed)
        while True:
            yield random.random()


def pick_tokens(logits, params: Sequence[SamplingParams], draws: Sequence[Iterator[float]]) -> list[int]:
    """One token for each row of logits [B, vocab], by its `params` and the next of its `draws`."""
    greedy = logits.argmax(dim=-1)
    drawn = [row for row, each in enumerate(params) if each.temperature > 0]
    if not drawn:
        return greedy.tolist()

    def column(numbers):
        return torch.tensor(numbers, dtype=torch.float32, device=logits.device)[:, None]

    temperature, top_p = (column([getattr(params[row], name) for row in drawn]) for name in ("temperature", "top_p"))
    rows = torch.tensor(drawn, device=logits.device)
    probabilities, tokens = (logits[rows].float() / temperature).softmax(dim=-1).sort(dim=-1, descending=True)
    mass = probabilities.cumsum(dim=-1)
    # A token stays while the mass before it is below top_p, so the first one always stays.
    stays = mass - probabilities < top_p
    mass = (probabilities * stays).cumsum(dim=-1)
    # The draw falls into one token's share of the mass that stayed: as likely as the share is large.
    point = column([next(draws[row]) for row in drawn]) * mass[:, -1:]
    place = torch.searchsorted(mass, point, right=True)
    place = torch.minimum(place, stays.sum(dim=-1, keepdim=True) - 1)  # rounding may put the point at the very end
    greedy[rows] = tokens.gather(-1, place).squeeze(-1)
    return greedy.tolist()
