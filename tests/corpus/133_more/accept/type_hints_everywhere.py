# verdict: accepted
from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Final, Generic, Literal, NamedTuple, Optional, ParamSpec, Protocol, TypeVar, overload

if TYPE_CHECKING:
    from no_such_package import Nothing

P = ParamSpec("P")
T = TypeVar("T", covariant=True)
Size = Annotated[int, "rows"]
NOTHING: Final[Optional[Nothing]] = None


class Choice(NamedTuple):
    rows: int
    sizes: tuple[Size, ...]


class Padder(Protocol[T]):
    def __call__(self, bs: Size, sizes: Sequence[Size], /) -> T: ...


def typed(f: Callable[P, T]) -> Callable[P, T]:
    return f


@overload
def pad_to(bs: Size, sizes: tuple[()], /) -> None: ...
@overload
def pad_to(bs: Size, sizes: Sequence[Size], /) -> Size | None: ...
@typed
def pad_to(bs, sizes, /, *, missing: None = None):
    fits: Iterable[Size] = (s for s in sizes if s >= bs)
    return next(iter(fits), missing)


def expected_waste(dist: Mapping[Size, int], sizes: Sequence[Size], *_: Nothing, **__: Nothing) -> float | Literal[0]:
    steps: int = sum(dist.values())
    if steps == 0:
        return 0
    rows: int = 0
    for bs, n in dist.items():
        match pad_to(bs, sizes):
            case None:
                continue
            case size:
                rows += n * (size - bs)
    return rows / steps


def best_sizes(dist: Mapping[Size, int], max_bs: Size, k: int) -> list[Size]:
    def rows(below: int, at: int) -> int:
        return sum(dist.get(b, 0) * (at - b) for b in range(below + 1, at + 1))

    cost: dict[tuple[int, int], int] = {}
    for at in range(1, max_bs + 1):
        total = steps = 0
        for below in range(at - 1, -1, -1):
            total += dist.get(below + 1, 0) * (at - below - 1)
            cost[below, at] = total
    best: list[Choice | None] = [Choice(cost[j, max_bs], (max_bs,)) for j in range(max_bs)]
    for left in range(2, k + 1):
        best = [
            min(Choice(cost[j, i] + best[i].rows, (i, *best[i].sizes)) for i in range(j + 1, max_bs - left + 2))
            for j in range(max_bs - left + 1)
        ]
    return [*best[0].sizes]
