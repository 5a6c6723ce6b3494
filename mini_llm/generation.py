"""From logits to tokens: one prefill, then one decode step per token."""

from collections.abc import Callable, Iterator, Sequence

import torch

from .cache import KVCache
from .sampling import SamplingParams, pick_tokens

EndTokens = int | Sequence[int] | None


def argmax(logits):
    """The most likely token of each row: logits [B, vocab] -> ids [B]."""
    return logits.argmax(dim=-1)


def sampler(temperature: float = 1.0, top_p: float = 1.0, seed: int | None = None) -> Callable:
    """A `pick` that draws from softmax(logits / temperature), cut to the likeliest tokens of mass `top_p`.

    The same seed draws the same tokens. Raises ValueError unless temperature > 0 and 0 < top_p <= 1.
    """
    if not temperature > 0:
        raise ValueError(f"temperature must be above 0, not {temperature}; for greedy text use argmax")
    params = SamplingParams(temperature=temperature, top_p=top_p, seed=seed)
    draws = params.draws()

    def pick(logits):
        rows = len(logits)
        return torch.tensor(pick_tokens(logits, [params] * rows, [draws] * rows), device=logits.device)

    return pick


@torch.no_grad()
def stream(
    model, input_ids, max_new_tokens: int, pick: Callable = argmax, eos_token_id: EndTokens = None
) -> Iterator[torch.Tensor]:
    """Yield the next token of every prompt, ids [B], up to `max_new_tokens` times.

    `input_ids` [B, T] holds prompts of one length, without padding; `pick` turns logits [B, vocab] into
    ids [B]. `eos_token_id` is one id, several, or None. A prompt that has ended repeats its end token;
    when all have ended, so does the stream.
    """
    if input_ids.ndim != 2 or input_ids.shape[1] == 0:
        raise ValueError(f"input_ids must be [B, T] with at least one token, not {list(input_ids.shape)}")
    eos = [eos_token_id] if isinstance(eos_token_id, int) else list(eos_token_id or ())
    eos = torch.tensor(eos, dtype=torch.long, device=input_ids.device)
    cache = KVCache(model.cfg.num_hidden_layers)
    ended, token = None, None
    for _ in range(max_new_tokens):
        logits = model(input_ids if token is None else token[:, None], cache)[:, -1]
        picked = pick(logits)
        token = picked if ended is None else torch.where(ended, token, picked)
        yield token
        if len(eos):
            ended = torch.isin(token, eos)
            if ended.all():
                return


def generate(
    model, input_ids, max_new_tokens: int, pick: Callable = argmax, eos_token_id: EndTokens = None
) -> torch.Tensor:
    """The tokens that follow `input_ids` [B, T]: [B, new], new <= max_new_tokens. See `stream`."""
    tokens = list(stream(model, input_ids, max_new_tokens, pick, eos_token_id))
    if not tokens:
        return input_ids.new_empty(input_ids.shape[0], 0)
    return torch.stack(tokens, dim=1)
