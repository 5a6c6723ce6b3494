"""Batch sizes as a server meets them: a small, seeded simulation of continuous batching.

Requests arrive at random, wait while the server holds `max_num_seqs` of them, and each running request
takes part in every decode step until its answer is complete. Counting the requests in each step gives the
distribution that capture sizes are chosen for: `{batch size: number of steps}`.
"""

from __future__ import annotations

import math
import random
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Request:
    """When it arrives (seconds), how many tokens its prompt and its answer have."""

    at: float
    prompt: int
    answer: int


@dataclass(frozen=True)
class Server:
    """What decides how long a step takes: reading the weights, each row, each prompt token (milliseconds)."""

    max_num_seqs: int = 64
    weights_ms: float = 18.0
    row_ms: float = 0.12
    prompt_token_ms: float = 0.03


def batch_sizes(requests: Iterable[Request], server: Server | None = None) -> dict[int, int]:
    """Decode steps by batch size, ascending. `requests` in the order of their arrival."""
    server = server or Server()
    coming = deque(requests)
    leaving: Counter[int] = Counter()  # step -> requests whose last token it makes
    counts: Counter[int] = Counter()
    clock, step, running = 0.0, 0, 0
    while coming or running:
        if not running:
            clock = max(clock, coming[0].at)  # an idle server runs no steps
        fresh = 0
        while coming and coming[0].at <= clock and running < server.max_num_seqs:
            request = coming.popleft()
            leaving[step + max(request.answer, 1)] += 1
            running += 1
            fresh += request.prompt
        counts[running] += 1
        clock += (server.weights_ms + server.row_ms * running + server.prompt_token_ms * fresh) / 1000
        step += 1
        running -= leaving.pop(step, 0)
    return dict(sorted(counts.items()))


def _length(draw: random.Random, median: float, spread: float, most: int) -> int:
    """A token count: most are near the median, a few are many times longer."""
    return max(1, min(most, round(draw.lognormvariate(math.log(median), spread))))


def _arrivals(draw: random.Random, seconds: float, peak: float, rate) -> Iterator[float]:
    """Poisson arrivals whose rate (per second, at most `peak`) changes with time."""
    at = draw.expovariate(peak)
    while at < seconds:
        if draw.random() < rate(at) / peak:
            yield at
        at += draw.expovariate(peak)


def chat(
    max_num_seqs: int = 64, requests_per_s: float = 5.0, minutes: float = 30.0, seed: int = 0
) -> dict[int, int]:
    """A chat server on a busy evening: the load rises, passes what the server holds, and falls again.

    `requests_per_s` is the mean over the time. Returns {batch size: decode steps}.
    """
    draw = random.Random(seed)
    seconds = 60 * minutes

    def rate(at: float) -> float:
        return requests_per_s * (1 - 0.85 * math.cos(2 * math.pi * at / seconds))

    times = _arrivals(draw, seconds, 2 * requests_per_s, rate)
    requests = [Request(at, _length(draw, 250, 1.0, 4000), _length(draw, 180, 0.8, 2000)) for at in times]
    return batch_sizes(requests, Server(max_num_seqs))


def agents(
    max_num_seqs: int = 64, bursts_per_min: float = 10.0, minutes: float = 30.0, seed: int = 0
) -> dict[int, int]:
    """Programs that ask in groups: four to sixteen requests at once, short answers, then silence.

    Returns {batch size: decode steps}.
    """
    draw = random.Random(seed)
    requests = []
    for at in _arrivals(draw, 60 * minutes, bursts_per_min / 60, lambda _: bursts_per_min / 60):
        for _ in range(draw.choice((4, 8, 8, 12, 16))):
            requests.append(Request(at, _length(draw, 1200, 0.5, 8000), _length(draw, 90, 0.4, 400)))
    return batch_sizes(requests, Server(max_num_seqs))


def offline(max_num_seqs: int = 64, requests: int = 2000, seed: int = 0) -> dict[int, int]:
    """A job that hands over all its requests at once: the server is full until the last ones run out.

    Returns {batch size: decode steps}.
    """
    draw = random.Random(seed)
    work = [
        Request(0.0, _length(draw, 600, 0.6, 4000), _length(draw, 250, 0.7, 2000)) for _ in range(requests)
    ]
    return batch_sizes(work, Server(max_num_seqs))
