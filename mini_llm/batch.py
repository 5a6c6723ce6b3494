"""One step's batch, twice: as plain lists that anyone can read, and at fixed addresses that a graph reads.

A batch is flat. The tokens of all requests stand in one row, request after request, whether a request
decodes one token or prefills a hundred. `build_batch` makes such a batch, `StepBuffers.set` copies it to
where the step expects it and pads it up to the size that was captured.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import groupby

import numpy as np
import torch

from mini_llm.paged import slot_mapping_for


@dataclass(frozen=True)
class Run:
    """Neighbouring requests `first` .. `last` - 1, in rows `start` .. `end` - 1, with `query_len` tokens each.

    `max_seq_len` is the length of the longest; None in a graph, which must serve any length.
    """

    first: int
    last: int
    start: int
    end: int
    query_len: int
    max_seq_len: int | None


@dataclass
class BatchInput:
    """N tokens of B requests, M of which get logits. Not to be changed once it is built."""

    input_ids: torch.Tensor  # [N] int64
    positions: torch.Tensor  # [N] int64, each token's place in its request
    slot_mapping: torch.Tensor  # [N] int64, where its key and value go
    query_start_loc: list[int]  # [B + 1]: request r has the rows query_start_loc[r] .. query_start_loc[r + 1]
    seq_lens: list[int]  # [B]: positions of each request, those of this step included
    block_tables: list[Sequence[int]]  # [B]
    logits_indices: torch.Tensor  # [M] int64, rows

    @cached_property
    def runs(self) -> tuple[Run, ...]:
        """The batch as the fewest stretches of requests with equally many tokens, in order."""
        bounds, runs, first = self.query_start_loc, [], 0
        for length, same in groupby(end - start for start, end in zip(bounds, bounds[1:], strict=False)):
            last = first + sum(1 for _ in same)
            longest = max(self.seq_lens[first:last])
            runs.append(Run(first, last, bounds[first], bounds[last], length, longest))
            first = last
        return tuple(runs)

    def query_len(self) -> int | None:
        """Tokens per request when all have equally many, else None: then no uniform graph fits."""
        return self.runs[0].query_len if len(self.runs) == 1 else None


def build_batch(items: Iterable[tuple[Sequence[int], int, Sequence[int], bool]], block_size: int) -> BatchInput:
    """The flat batch of `items`, each (token_ids, num_computed, block_table, need_logits).

    `token_ids` are a request's tokens of this step: a prompt, a chunk of one, or the token sampled last.
    The `num_computed` positions before them are in the cache already. `need_logits`: for the last of them.
    Raises ValueError for no items, no tokens, or tokens that do not fit into the block table.
    """
    input_ids, positions, slots, logits_indices = [], [], [], []
    query_start_loc, seq_lens, block_tables = [0], [], []
    for token_ids, num_computed, block_table, need_logits in items:
        if len(token_ids) == 0:
            raise ValueError(f"request {len(seq_lens)} of the batch has no tokens in this step")
        seq_len = num_computed + len(token_ids)
        new = range(num_computed, seq_len)
        input_ids += token_ids
        positions += new
        slots += slot_mapping_for(block_table, new, block_size)
        query_start_loc.append(len(input_ids))
        seq_lens.append(seq_len)
        block_tables.append(block_table)
        if need_logits:
            logits_indices.append(len(input_ids) - 1)
    if not seq_lens:
        raise ValueError("a batch has at least one request")
    tensors = [torch.tensor(numbers, dtype=torch.long) for numbers in (input_ids, positions, slots, logits_indices)]
    return BatchInput(*tensors[:3], query_start_loc, seq_lens, block_tables, tensors[3])


@dataclass(frozen=True)
class StepInputs:
    """All that a step reads besides weights and cache: N rows of R requests, padding included.

    A graph keeps the addresses of the tensors (int64), so it sees what is written there before a replay.
    It keeps, too, whatever the last two fields led Python to do, and that never changes again: where a
    graph is captured they therefore say nothing about any one batch.
    """

    input_ids: torch.Tensor  # [N]; padding: 0
    positions: torch.Tensor  # [N]; padding: 0
    slot_mapping: torch.Tensor  # [N]; padding: -1, write nothing
    seq_lens: torch.Tensor  # [R]; padding: 0, see nothing
    query_start_loc: torch.Tensor  # [R + 1]; padding: the end of the last request
    block_table: torch.Tensor  # [R, W]; padding: 0, the null block
    logits_indices: torch.Tensor  # [M] rows; in a graph [R]; padding: 0
    runs: tuple[Run, ...] | None = None  # None: only the tensors know how the rows form requests
    batch: BatchInput | None = None  # the same as lists, for code that no graph holds


def step_inputs(batch: BatchInput, device="cpu") -> StepInputs:
    """What an eager step reads: `batch` as new tensors on `device`, the block table as wide as the longest row."""
    widest = max(map(len, batch.block_tables))
    tables = [[*blocks, *[0] * (widest - len(blocks))] for blocks in batch.block_tables]
    lists = [torch.tensor(numbers) for numbers in (batch.seq_lens, batch.query_start_loc, tables)]
    tensors = (batch.input_ids, batch.positions, batch.slot_mapping, *lists, batch.logits_indices)
    return StepInputs(*(tensor.to(device) for tensor in tensors), runs=batch.runs, batch=batch)


def write_rows(array: np.ndarray, values: Sequence[int], size: int, padding: int) -> None:
    """Put `values` into the first rows of `array` [at least `size`], and `padding` behind them up to row `size`.

    In place, since a graph reads this very memory. Raises ValueError, and writes nothing, for more than `size` values.
    """
    n = len(values)
    if n > size:
        raise ValueError(f"{n} values do not fit into {size} rows")
    array[:n] = values
    array[n:size] = padding


def write_tables(table: np.ndarray, block_tables: Sequence[Sequence[int]], size: int) -> None:
    """Put each request's blocks into a row of `table` [at least `size`, W], and the null block (0) everywhere else.

    Everywhere up to row `size`: behind a request's last block, and in rows of padding. In place. Raises ValueError,
    and writes nothing, for more than `size` requests, or for one with more than W blocks.
    """
    widest, width = max(map(len, block_tables), default=0), table.shape[1]
    if widest > width:
        raise ValueError(f"a request has {widest} blocks, and the buffers hold {width} of each")
    if len(block_tables) > size:
        raise ValueError(f"the block tables of {len(block_tables)} requests do not fit into {size} rows")
    table[:size] = 0  # whole rows: nothing of a longer table that was here before stays
    for row, blocks in zip(table, block_tables, strict=False):
        row[: len(blocks)] = blocks


def write_metadata(arrays: Mapping[str, np.ndarray], batch: BatchInput, num_tokens: int, num_reqs: int) -> None:
    """What attention reads of `batch`, padded to a graph of `num_tokens` tokens and `num_reqs` requests, in place.

    `arrays` (int64, as large as the largest graph) by their names in StepInputs, and what a row of padding gets:
    slot_mapping [tokens], -1: write nothing; seq_lens [requests], 0: see nothing; query_start_loc [requests + 1],
    the end of the last request: no tokens; block_table [requests, W], 0: the null block.
    Raises ValueError, and writes nothing, for a batch with more tokens, requests, or blocks of a request than fit.
    """
    n, b = len(batch.input_ids), len(batch.seq_lens)
    if n > num_tokens or b > num_reqs:
        raise ValueError(
            f"{n} tokens of {b} requests do not fit into a step of {num_tokens} tokens of {num_reqs} requests"
        )
    write_tables(arrays["block_table"], batch.block_tables, num_reqs)  # first: it refuses tables that are too wide
    write_rows(arrays["slot_mapping"], batch.slot_mapping.cpu().numpy(), num_tokens, -1)
    write_rows(arrays["seq_lens"], batch.seq_lens, num_reqs, 0)
    write_rows(arrays["query_start_loc"], batch.query_start_loc, num_reqs + 1, n)


class StepBuffers:
    """Where StepInputs live: tensors of the largest size, allocated once, filled by `set`.

    At most `max_tokens` rows, and `max_reqs` requests of `max_blocks` blocks each. At first all is padding:
    a graph that is warmed up before the first `set` writes nothing to the cache.
    """

    def __init__(self, max_tokens: int, max_reqs: int, max_blocks: int, device="cpu"):
        self.max_tokens, self.max_reqs, self.max_blocks = max_tokens, max_reqs, max_blocks
        self.device = device = torch.device(device)
        lengths = {
            "input_ids": max_tokens,
            "positions": max_tokens,
            "slot_mapping": max_tokens,
            "seq_lens": max_reqs,
            "query_start_loc": max_reqs + 1,
            "logits_indices": max_tokens,
        }
        # Two tensors in all, the second for the tables: a GPU fetches a step in two copies.
        self._fixed = (
            torch.zeros(sum(lengths.values()), dtype=torch.long, device=device),
            torch.zeros(max_reqs, max_blocks, dtype=torch.long, device=device),
        )
        # Python writes to the tensors themselves on a CPU, else to twins in memory that a GPU can fetch from.
        self._host, self._fetched = self._fixed, None
        if device.type != "cpu":
            self._host = tuple(torch.zeros_like(each, device="cpu") for each in self._fixed)
        if device.type == "cuda":
            self._host = tuple(each.pin_memory() for each in self._host)
            self._fetched = torch.cuda.Event()

        def named(packed, block_table):
            return dict(zip(lengths, packed.split(tuple(lengths.values())), strict=True), block_table=block_table)

        self._tensors = named(*self._fixed)
        self._arrays = {name: each.numpy() for name, each in named(*self._host).items()}
        self._tensors["slot_mapping"].fill_(-1)
        self._arrays["slot_mapping"].fill(-1)
        self._sized = lru_cache(maxsize=512)(self._slice)

    def view(self, num_tokens: int, num_reqs: int | None = None, uniform: bool = False) -> StepInputs:
        """What a graph for `num_tokens` rows reads, of whatever batch `set` put there with the same numbers.

        `num_reqs=None`: as many as there may be. `uniform`: they have num_tokens / num_reqs tokens each.
        Otherwise only a backend with AttentionCGSupport.ALWAYS can be captured.
        Raises ValueError for more than the buffers hold.
        """
        inputs = self._sized(num_tokens, num_reqs)
        if not uniform:
            return inputs
        whole = Run(0, num_reqs, 0, num_tokens, num_tokens // num_reqs, max_seq_len=None)
        return replace(inputs, runs=(whole,))

    def set(
        self, batch: BatchInput, num_tokens: int | None = None, num_reqs: int | None = None, uniform: bool = False
    ) -> StepInputs:
        """Write `batch`, padded to what a graph of these numbers reads, and return what an eager step reads.

        Without numbers nothing is padded. No memory is allocated, and the GPU is not waited for, except
        until it has fetched the step before. Raises ValueError for a batch that does not fit.
        """
        n, b = len(batch.input_ids), len(batch.seq_lens)
        if num_tokens is None:
            num_tokens, num_reqs = n, b
        inputs = self._sized(num_tokens, num_reqs)
        num_reqs = len(inputs.seq_lens)
        if uniform:
            self._check(batch, num_tokens // num_reqs)
        if self._fetched is not None:
            self._fetched.synchronize()
        write_metadata(self._arrays, batch, num_tokens, num_reqs)
        write_rows(self._arrays["input_ids"], batch.input_ids.cpu().numpy(), num_tokens, 0)
        write_rows(self._arrays["positions"], batch.positions.cpu().numpy(), num_tokens, 0)
        m = len(batch.logits_indices)
        write_rows(self._arrays["logits_indices"], batch.logits_indices.cpu().numpy(), max(m, num_reqs), 0)

        if self._host is not self._fixed:
            self._fixed[0].copy_(self._host[0], non_blocking=True)
            self._fixed[1][:num_reqs].copy_(self._host[1][:num_reqs], non_blocking=True)
        if self._fetched is not None:
            self._fetched.record()
        indices = self._tensors["logits_indices"][:m]
        return replace(inputs, logits_indices=indices, runs=batch.runs, batch=batch)

    def _slice(self, num_tokens: int, num_reqs: int | None) -> StepInputs:
        if num_reqs is None:
            num_reqs = min(num_tokens, self.max_reqs)
        if num_tokens > self.max_tokens or num_reqs > self.max_reqs:
            raise ValueError(
                f"{num_tokens} tokens of {num_reqs} requests are more than the buffers hold: "
                f"{self.max_tokens} tokens of {self.max_reqs} requests"
            )
        per_token = ("input_ids", "positions", "slot_mapping")
        sizes = dict.fromkeys(per_token, num_tokens) | {"query_start_loc": num_reqs + 1}
        return StepInputs(**{name: each[: sizes.get(name, num_reqs)] for name, each in self._tensors.items()})

    def _check(self, batch: BatchInput, query_len: int) -> None:
        if batch.query_len() != query_len:
            raise ValueError(
                f"a graph for {query_len} token(s) per request cannot take this batch: "
                f"its requests have {', '.join(str(run.query_len) for run in batch.runs)}"
            )
