"""Which graph a batch runs in, decided without torch.

Three questions, in the order an engine asks them. At start-up: what does the optimisation level switch on
(`resolve_optimization`), and what does the attention backend allow (`resolve_cudagraph_mode`)? Then, at
every step: which captured graph fits this batch (`CudagraphDispatcher`)?

Rules as in vLLM 0.33.0 (`CUDAGraphMode`, `CudagraphDispatcher`, `resolve_cudagraph_mode_and_sizes`), with
one difference: whatever is taken away from what was asked for is logged, with the reason.
"""

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum, IntEnum

from mini_llm.buckets import default_capture_sizes, pad_to

logger = logging.getLogger(__name__)


class CUDAGraphMode(Enum):
    """How steps use graphs. A pair means: (uniform decode batches, all other batches)."""

    NONE = 0
    PIECEWISE = 1  # graphs of the pieces between attention calls: any batch
    FULL = 2  # one graph of the whole step
    FULL_DECODE_ONLY = (FULL, NONE)
    FULL_AND_PIECEWISE = (FULL, PIECEWISE)

    def __bool__(self) -> bool:
        return self is not CUDAGraphMode.NONE

    def decode_mode(self) -> "CUDAGraphMode":
        """The mode of a batch in which every request has the same few tokens."""
        return CUDAGraphMode(self.value[0]) if self.has_two_parts() else self

    def mixed_mode(self) -> "CUDAGraphMode":
        """The mode of any other batch."""
        return CUDAGraphMode(self.value[1]) if self.has_two_parts() else self

    def has_two_parts(self) -> bool:
        """Whether decode batches have graphs of their own."""
        return isinstance(self.value, tuple)

    def requires_piecewise_compilation(self) -> bool:
        return CUDAGraphMode.PIECEWISE in (self.decode_mode(), self.mixed_mode())

    def without_piecewise(self) -> "CUDAGraphMode":
        """What is left of the mode where the step was never split into pieces."""
        if self is CUDAGraphMode.PIECEWISE:
            return CUDAGraphMode.NONE
        return CUDAGraphMode.FULL_DECODE_ONLY if self is CUDAGraphMode.FULL_AND_PIECEWISE else self

    def is_valid_runtime_mode(self) -> bool:
        """Whether a single step can run in this mode: a step is of one kind, a pair is not."""
        return not self.has_two_parts()


class AttentionCGSupport(IntEnum):
    """Which batches an attention backend can have captured in a graph, from none to all."""

    NEVER = 0
    UNIFORM_SINGLE_TOKEN_DECODE = 1
    UNIFORM_BATCH = 2  # every request has the same number of tokens
    ALWAYS = 3


def read_log(text: str) -> tuple[str | None, str | None, list[str]]:
    """What a start-up log says will run: (mode of decode batches, mode of mixed batches, reasons).

    The modes are names such as "FULL", both None when an ERROR line ended the start-up. The reasons, in the
    order of the log, are why it is not the mode that was asked for: the text behind each "becomes ...: ", and
    that of the ERROR line. A line is `time LEVEL logger: message`; most say nothing about the mode.
    """
    name, reasons = CUDAGraphMode.NONE.name, []
    for level, message in re.findall(r"^\S+ (\w+) \S+: (.*)$", text, re.MULTILINE):
        if asked := re.fullmatch(r"cudagraph_mode (\w+) is asked for", message):
            name = asked[1]
        elif change := re.fullmatch(r"cudagraph_mode \w+ becomes (\w+): (.*)", message):
            name = change[1]
            reasons.append(change[2])
        elif level == "ERROR":
            return None, None, [*reasons, message]
    mode = CUDAGraphMode[name]
    return mode.decode_mode().name, mode.mixed_mode().name, reasons


def resolve_cudagraph_mode(
    mode: CUDAGraphMode,
    support: AttentionCGSupport,
    *,
    query_len: int = 1,
    piecewise_compiled: bool = True,
    attention_splits: bool = True,
) -> CUDAGraphMode:
    """The mode that can really be run: `mode`, or the best one below it, logged with the reason.

    `query_len` is how many tokens each request has in a decode step. `piecewise_compiled`: the step was
    split into pieces; `attention_splits`: it was split at attention. Raises ValueError for FULL with a
    backend that can never be captured.
    """
    full, piecewise = CUDAGraphMode.FULL, CUDAGraphMode.PIECEWISE

    def downgrade(to: CUDAGraphMode, reason: str) -> CUDAGraphMode:
        logger.warning("cudagraph_mode %s becomes %s: %s", mode.name, to.name, reason)
        return to

    if mode.mixed_mode() is full and support < AttentionCGSupport.ALWAYS:
        if support is AttentionCGSupport.NEVER:
            raise ValueError(
                "cudagraph_mode FULL needs an attention backend that can be captured, and this one never "
                "can: use PIECEWISE, or another backend"
            )
        pair = CUDAGraphMode.FULL_AND_PIECEWISE if attention_splits else CUDAGraphMode.FULL_DECODE_ONLY
        mode = downgrade(pair, f"the attention backend captures {support.name} batches only, not mixed ones")

    without_full = piecewise if piecewise_compiled else CUDAGraphMode.NONE
    if mode.decode_mode() is full and support is AttentionCGSupport.NEVER:
        mode = downgrade(without_full, "the attention backend can never be captured")
    if mode.decode_mode() is full and query_len > 1 and support < AttentionCGSupport.UNIFORM_BATCH:
        mode = downgrade(without_full, f"the attention backend cannot capture {query_len} tokens per request")

    if mode.requires_piecewise_compilation() and not piecewise_compiled:
        mode = downgrade(mode.without_piecewise(), "the step was not compiled piecewise")
    return mode


@dataclass(frozen=True)
class BatchDescriptor:
    """The key of a graph: everything that has to be equal for a batch to run in it."""

    num_tokens: int
    num_reqs: int | None = None
    uniform: bool = False
    has_lora: bool = False

    def relaxed(self) -> "BatchDescriptor":
        """The key of a piece, or of a graph for any batch: how tokens form requests does not matter there."""
        return replace(self, num_reqs=None, uniform=False)


class CudagraphDispatcher:
    """Knows the key of every graph to capture, and finds the one for a batch.

    `sizes` are the capture sizes in tokens, at most `max_num_seqs` requests run in a step, and each has
    `query_len` tokens in a decode step. `.keys` maps PIECEWISE and FULL to sets of BatchDescriptor.
    """

    def __init__(self, mode: CUDAGraphMode, sizes: Sequence[int], max_num_seqs: int, query_len: int = 1):
        self.mode = mode
        self.sizes = sorted(set(sizes))
        self.query_len = query_len
        # a uniform graph holds whole requests only
        self.decode_sizes = [
            size for size in self.sizes if size % query_len == 0 and query_len <= size <= max_num_seqs * query_len
        ]
        self.keys = {CUDAGraphMode.PIECEWISE: set(), CUDAGraphMode.FULL: set()}
        if mode.mixed_mode():
            self.keys[mode.mixed_mode()] = {BatchDescriptor(size) for size in self.sizes}
        if mode.has_two_parts() and mode.decode_mode():
            self.keys[mode.decode_mode()] = {self._decode_key(size) for size in self.decode_sizes}

    def _decode_key(self, size: int) -> BatchDescriptor:
        return BatchDescriptor(size, size // self.query_len, uniform=True)

    def dispatch(
        self, num_tokens: int, uniform: bool = False, has_lora: bool = False
    ) -> tuple[CUDAGraphMode, BatchDescriptor]:
        """The runtime mode of a batch, and the padded batch it runs as: NONE means eager and unpadded.

        `uniform`: every request has exactly `query_len` tokens. A batch that no graph fits is never an
        error. Raises ValueError when `num_tokens` is below 1.
        """
        size = pad_to(num_tokens, self.sizes)
        decode_size = pad_to(num_tokens, self.decode_sizes) if uniform else None
        full, piecewise = CUDAGraphMode.FULL, CUDAGraphMode.PIECEWISE
        candidates = []
        if decode_size is not None:
            candidates.append((full, self._decode_key(decode_size)))
        if size is not None:
            candidates += [(full, BatchDescriptor(size)), (piecewise, BatchDescriptor(size))]
        for mode, key in candidates:
            key = replace(key, has_lora=has_lora)
            if key in self.keys[mode]:
                return mode, key
        return CUDAGraphMode.NONE, BatchDescriptor(num_tokens, has_lora=has_lora)

    def capture_order(self) -> list[tuple[CUDAGraphMode, BatchDescriptor]]:
        """Every graph in the order to capture: PIECEWISE before FULL, and each from large to small.

        The largest needs the most memory; all later ones fit into what it left in the shared pool.
        """
        return [
            (mode, key)
            for mode in (CUDAGraphMode.PIECEWISE, CUDAGraphMode.FULL)
            for key in sorted(self.keys[mode], key=lambda key: key.num_tokens, reverse=True)
        ]


class OptimizationLevel(IntEnum):
    """How much start-up time to spend for faster steps."""

    O0 = 0  # start at once: no compilation, no graphs
    O1 = 1  # compile, and capture the pieces
    O2 = 2  # the default: more fusions, and full graphs for decode steps too
    O3 = 3  # as O2, for now


@dataclass(frozen=True)
class OptimizationConfig:
    """What start-up does, every question answered."""

    compile: bool
    fusions: bool  # the hand-written kernels, put in by a compiler pass
    cudagraph_mode: CUDAGraphMode  # as asked for: `resolve_cudagraph_mode` has the last word
    capture_sizes: tuple[int, ...]  # ascending, in tokens


_LEVELS = {
    OptimizationLevel.O0: (False, False, CUDAGraphMode.NONE),
    OptimizationLevel.O1: (True, False, CUDAGraphMode.PIECEWISE),
    OptimizationLevel.O2: (True, True, CUDAGraphMode.FULL_AND_PIECEWISE),
    OptimizationLevel.O3: (True, True, CUDAGraphMode.FULL_AND_PIECEWISE),
}


def resolve_optimization(
    level: OptimizationLevel | int = OptimizationLevel.O2,
    *,
    enforce_eager: bool = False,
    compile: bool | None = None,
    fusions: bool | None = None,
    cudagraph_mode: CUDAGraphMode | None = None,
    capture_sizes: Sequence[int] | None = None,
    max_num_seqs: int = 256,
    max_num_batched_tokens: int = 8192,
    query_len: int = 1,
) -> OptimizationConfig:
    """Fill in what was not given: by the level, and by the default ladder for the last three numbers.

    A flag that was given (not None) overrides the level. `enforce_eager` overrides every flag: no
    compilation, no graphs, no sizes. Sizes above `max_num_batched_tokens` are dropped, since no step and
    no buffer is that large. Raises ValueError for an unknown level or a size below 1.
    """
    level_compiles, level_fuses, level_mode = _LEVELS[OptimizationLevel(level)]
    if enforce_eager:
        given = {"compile": compile, "fusions": fusions, "cudagraph_mode": cudagraph_mode}
        given["capture_sizes"] = capture_sizes
        ignored = ", ".join(name for name, flag in given.items() if flag)
        if ignored:
            logger.warning("enforce_eager is on: %s given as well and ignored", ignored)
        return OptimizationConfig(False, False, CUDAGraphMode.NONE, ())

    compile = level_compiles if compile is None else compile
    # fusions are put into compiled code: without it, asking for them changes nothing
    if fusions and not compile:
        logger.warning("fusions are off: nothing is compiled that they could be put into")
    fusions = compile and (level_fuses if fusions is None else fusions)
    mode = level_mode if cudagraph_mode is None else cudagraph_mode
    if not mode:
        return OptimizationConfig(compile, fusions, mode, ())

    if capture_sizes is None:
        capture_sizes = default_capture_sizes(max_num_seqs, max_num_batched_tokens, query_len)
    sizes = sorted(set(capture_sizes))
    if sizes and sizes[0] < 1:
        raise ValueError(f"a capture size is at least 1 token, not {sizes[0]}")
    dropped = [size for size in sizes if size > max_num_batched_tokens]
    if dropped:
        top = max_num_batched_tokens
        logger.warning("capture sizes %s dropped: they are above max_num_batched_tokens=%d", dropped, top)
        sizes = sizes[: -len(dropped)]
    if not sizes:
        logger.warning("cudagraph_mode %s becomes NONE: there are no capture sizes", mode.name)
        mode = CUDAGraphMode.NONE
    return OptimizationConfig(compile, fusions, mode, tuple(sizes))
