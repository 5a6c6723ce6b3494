"""The engine: requests come in at any time, tokens go out one by one.

`LLM` puts the parts together. At start-up: model, attention backend, the graphs that level and backend allow,
and a cache in the memory that is left. Then step after step: the scheduler chooses requests, their tokens become
one flat batch, the executor runs it in the mode that fits, and every request whose logits are there gets its next
token. There is nothing else between two steps, so a request can join or leave at each of them.
"""

import itertools
import json
import logging
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from mini_llm.attention import attention_backend
from mini_llm.batch import StepBuffers, build_batch
from mini_llm.dispatch import CudagraphDispatcher, CUDAGraphMode, resolve_cudagraph_mode, resolve_optimization
from mini_llm.executor import Executor, blocks_that_fit, free_bytes
from mini_llm.model import Transformer
from mini_llm.paged import PagedKVCache
from mini_llm.sampling import SamplingParams, pick_tokens
from mini_llm.scheduler import Request, Scheduler
from mini_llm.weights import put_together

logger = logging.getLogger(__name__)
DEFAULT_CONTEXT = 4096  # longer contexts have to be asked for: tables and buffers are made for the longest


@dataclass(frozen=True)
class EngineConfig:
    """How an engine runs. None means: as the level, the device or the model says."""

    level: int | None = None  # O0 to O3; by default O2 on a GPU, and O0 on a CPU, where graphs save nothing
    enforce_eager: bool = False
    compile: bool | None = None
    fusions: bool | None = None
    compile_sizes: Sequence[int] = ()  # token counts with code of their own, besides the code for any number
    compile_ranges_endpoints: Sequence[int] = ()  # where one range of token counts ends and the next begins
    cudagraph_mode: CUDAGraphMode | str | None = None
    capture_sizes: Sequence[int] | None = None
    attention: str | None = None  # the backend's name
    decode_kernels: bool | None = None  # decode graphs of the final rung; by default with fusions, on a GPU
    max_num_seqs: int = 256
    max_num_batched_tokens: int = 8192
    max_model_len: int | None = None  # tokens of a request, answer included
    query_len: int = 1  # tokens per request in a decode graph; above 1 to verify drafts
    block_size: int = 16
    num_blocks: int | None = None  # the null block included
    memory_share: float | None = None  # of what is free, for the cache; by default 0.9 of a GPU's, 0.25 of a CPU's
    progress: bool = False  # bars at start-up


@dataclass(frozen=True)
class NewToken:
    """What a step gave one request. `finish_reason` is None while it goes on."""

    request_id: int
    token: int
    finish_reason: str | None


@dataclass(frozen=True)
class Completion:
    """A whole answer. It ended by an end token ("stop", which is kept), by "length", or at the end of the "context"."""

    token_ids: list[int]
    finish_reason: str
    text: str | None  # None without a tokenizer


class LLM:
    """An engine for `model`: a Transformer, or a folder or name as `Transformer.from_pretrained` takes it.

    `options` are the fields of EngineConfig. `eos_token_ids` end an answer; by default those of the checkpoint.
    Raises ValueError for settings that do not fit together.
    """

    def __init__(self, model, *, dtype=None, device=None, eos_token_ids: Iterable[int] | None = None, **options):
        start = time.perf_counter()
        self.config = config = EngineConfig(**options)
        self.tokenizer, context = None, None
        if not isinstance(model, Transformer):
            model, self.tokenizer, context = _load(model, dtype, device)
        self.model, self.device = model.eval(), model.embed_tokens.weight.device
        put_together(model)  # weights move now or never: other engines of this model may have captured them
        own = self.tokenizer.eos_token_ids if self.tokenizer else ()
        self.eos_token_ids = frozenset(own if eos_token_ids is None else eos_token_ids)
        self.max_model_len = _context_length(config.max_model_len, context)
        self.reserved_bytes = 0

        compiling = time.perf_counter()
        self.executor = self._executor()
        self.executor.use_cache(self._cache(2))  # to warm up and to measure with: only padding is written
        if self.device.type == "cuda":
            self.executor.warm_up()
        self.compile_seconds = time.perf_counter() - compiling
        num_blocks = config.num_blocks or self._num_blocks()
        self.executor.use_cache(self._cache(num_blocks))
        self.executor.capture(config.progress)
        self.scheduler = Scheduler(
            num_blocks, config.block_size, config.max_num_seqs, config.max_num_batched_tokens, self.max_model_len
        )
        self._requests: dict[int, Request] = {}
        self._ids = itertools.count()
        logger.info(
            "engine ready in %.1f s: %s, %s attention, %d blocks of %d tokens",
            time.perf_counter() - start, self.mode.name, type(self.executor.backend).__name__, num_blocks,
            config.block_size,
        )  # fmt: skip

    # --- start-up ---------------------------------------------------------------------------------

    def _executor(self) -> Executor:
        config = self.config
        self.optimization, backend, self.mode, dispatcher = _decide(config, self.device)
        width = -(-self.max_model_len // config.block_size)
        buffers = StepBuffers(config.max_num_batched_tokens, config.max_num_seqs, width, self.device)
        return Executor(self.model, backend, buffers, dispatcher, self._step(), self._decode_step(dispatcher))

    def _step(self):
        """The step that the level asks for: compiled, or in pieces at least where graphs of pieces are; else None."""
        if self.optimization.compile:
            from mini_llm.fusion import compile_step

            config = self.config
            return compile_step(
                self.model, max_positions=self.max_model_len, fusions=self.optimization.fusions, level=config.level,
                compile_sizes=config.compile_sizes, compile_ranges_endpoints=config.compile_ranges_endpoints,
                max_num_seqs=config.max_num_seqs, max_num_batched_tokens=config.max_num_batched_tokens,
            )  # fmt: skip
        if self.mode.requires_piecewise_compilation():
            from mini_llm.piecewise import split_step

            return split_step(self.model)
        return None

    def _decode_step(self, dispatcher: CudagraphDispatcher):
        """The kernels of the final rung, if they are wanted and there is a decode graph to put them into."""
        from mini_llm.kernels import why_no_triton

        wanted = self.config.decode_kernels
        if wanted is None:
            wanted = self.optimization.fusions and self.device.type == "cuda" and not why_no_triton()
        sizes = [key.num_tokens for key in dispatcher.keys[CUDAGraphMode.FULL] if key.uniform]
        if not wanted or not sizes or dispatcher.query_len > 1:
            return None
        from mini_llm.kernels.decode_step import FinalStep

        return FinalStep(self.model, self._cache(2), max(sizes), max_positions=self.max_model_len)

    def _cache(self, num_blocks: int) -> PagedKVCache:
        cfg, dtype = self.model.cfg, self.model.embed_tokens.weight.dtype
        layers, heads = cfg.num_hidden_layers, cfg.num_key_value_heads
        return PagedKVCache(layers, num_blocks, self.config.block_size, heads, cfg.hd, dtype, self.device)

    def _num_blocks(self) -> int:
        """As many blocks as all requests could use at their longest, or as many as there is memory for."""
        config = self.config
        self.reserved_bytes = self.executor.bytes_to_reserve()
        share = config.memory_share or (0.9 if self.device.type == "cuda" else 0.25)
        per_block = self.model.cfg.kv_numbers_per_token() * config.block_size * self.model.embed_tokens.weight.itemsize
        wanted = 1 + config.max_num_seqs * -(-self.max_model_len // config.block_size)
        return blocks_that_fit(free_bytes(self.device), self.reserved_bytes, share, per_block, wanted)

    @staticmethod
    def plan(device=None, **options) -> dict[str, str]:
        """How an engine with these options would run on `device`, in words, without a model or any start-up."""
        optimization, backend, mode, dispatcher = _decide(EngineConfig(**options), device_of_choice(device))
        sizes = dispatcher.sizes
        compilation = "on, with fused kernels" if optimization.fusions else "on" if optimization.compile else "off"
        return {
            "compilation": compilation,
            "attention": f"{type(backend).__name__}, captures {backend.support.name}",
            "graphs": mode.name,
            "capture sizes": f"{len(sizes)}, {sizes[0]} to {sizes[-1]} tokens" if sizes else "none",
            "graphs to capture": ", ".join(f"{len(keys)} {kind.name}" for kind, keys in dispatcher.keys.items()),
        }

    # --- requests ---------------------------------------------------------------------------------

    def add(self, prompt: str | Sequence[int], params: SamplingParams | None = None) -> int:
        """Take in a request, text or token ids, and return its number. It joins at one of the next steps.

        Raises ValueError for a prompt that is empty, too long for the context, or too long for the cache.
        """
        params = params or SamplingParams()
        tokens = self._encode(prompt) if isinstance(prompt, str) else list(prompt)
        ends = set(params.stop_token_ids) | (set() if params.ignore_eos else self.eos_token_ids)
        request = Request(next(self._ids), tokens, params, frozenset(ends))
        self.scheduler.add(request)
        self._requests[request.id] = request
        return request.id

    def abort(self, request_id: int) -> None:
        """Let a request leave before its end. Its blocks are free at once; a number that is gone is ignored."""
        request = self._requests.pop(request_id, None)
        if request is not None:
            self.scheduler.finish(request, "abort")

    def has_unfinished(self) -> bool:
        return bool(self._requests)

    def step(self) -> list[NewToken]:
        """Run one batch; the tokens it gave, none for requests that are still in their prompt."""
        scheduled = self.scheduler.schedule()
        if not scheduled:
            return []
        # Logits for each request, wanted or not: a graph computes them anyway, and rows stay in step with requests.
        items = [(r.tokens[r.computed : r.computed + n], r.computed, r.blocks, True) for r, n in scheduled]
        logits = self.executor.run(build_batch(items, self.config.block_size))
        self.scheduler.advance(scheduled)

        rows = [row for row, (request, _) in enumerate(scheduled) if request.waits_for_token]
        if not rows:
            return []
        requests = [scheduled[row][0] for row in rows]
        if len(rows) < len(scheduled):
            logits = logits[torch.tensor(rows, device=self.device)]
        picked = pick_tokens(logits, [r.params for r in requests], [r.draws for r in requests])
        for request, token in zip(requests, picked, strict=True):
            self.scheduler.append(request, token)
            if request.finish_reason:
                del self._requests[request.id]
        return [NewToken(r.id, token, r.finish_reason) for r, token in zip(requests, picked, strict=True)]

    def stream(self, prompt: str | Sequence[int], params: SamplingParams | None = None) -> Iterator[int]:
        """The tokens of one answer as they come; other requests go on beside it. Closing it early aborts it."""
        request_id = self.add(prompt, params)
        request = self._requests[request_id]
        try:
            given = 0
            while given < len(request.new_tokens) or request.finish_reason is None:
                if given == len(request.new_tokens):
                    self.step()
                new = request.new_tokens[given:]
                given += len(new)
                yield from new
        finally:
            self.abort(request_id)

    def generate(self, prompts: Sequence, params: SamplingParams | Sequence[SamplingParams] | None = None):
        """Answer all `prompts`, each text or token ids, with one SamplingParams or one each: list of Completion."""
        prompts = [prompts] if isinstance(prompts, str) else list(prompts)
        each = [params] * len(prompts) if params is None or isinstance(params, SamplingParams) else list(params)
        requests = []
        try:
            for prompt, its_params in zip(prompts, each, strict=True):
                requests.append(self._requests[self.add(prompt, its_params)])
            while any(request.finish_reason is None for request in requests):
                self.step()
        finally:  # a prompt that was refused, or Ctrl-C
            for request in requests:
                self.abort(request.id)
        return [Completion(r.new_tokens, r.finish_reason, self._text(r)) for r in requests]

    def _encode(self, prompt: str) -> list[int]:
        if self.tokenizer is None:
            raise ValueError("this engine has no tokenizer: give the prompt as token ids")
        return self.tokenizer.encode(prompt)

    def _text(self, request: Request) -> str | None:
        return None if self.tokenizer is None else self.tokenizer.decode(request.new_tokens)


def _decide(config: EngineConfig, device: torch.device):
    """What the level switches on, the attention backend, the mode it allows, and the graphs that this means."""
    mode = config.cudagraph_mode
    optimization = resolve_optimization(
        (2 if device.type == "cuda" else 0) if config.level is None else config.level,
        enforce_eager=config.enforce_eager,
        compile=config.compile,
        fusions=config.fusions,
        cudagraph_mode=CUDAGraphMode[mode] if isinstance(mode, str) else mode,
        capture_sizes=config.capture_sizes,
        max_num_seqs=config.max_num_seqs,
        max_num_batched_tokens=config.max_num_batched_tokens,
        query_len=config.query_len,
    )
    backend = attention_backend(config.attention, device)
    logger.info("cudagraph_mode %s is asked for", optimization.cudagraph_mode.name)
    facts = "attention captures %s, query_len %d, compiled in pieces: yes, split at attention: yes"
    logger.info(facts, backend.support.name, config.query_len)
    # A step can be split whether it is compiled or not, so PIECEWISE needs no compiler here.
    mode = resolve_cudagraph_mode(optimization.cudagraph_mode, backend.support, query_len=config.query_len)
    dispatcher = CudagraphDispatcher(mode, optimization.capture_sizes, config.max_num_seqs, config.query_len)
    return optimization, backend, mode, dispatcher


def _load(path_or_name, dtype, device):
    """Model, tokenizer (None if the folder has none), and the context that config.json states."""
    from mini_llm.checkpoints import find_model
    from mini_llm.text import Tokenizer

    folder = find_model(path_or_name)
    device = device_of_choice(device)
    dtype = dtype or (torch.bfloat16 if device.type == "cuda" else torch.float32)
    tokenizer = Tokenizer(folder) if (folder / "tokenizer.json").is_file() else None
    context = json.loads((Path(folder) / "config.json").read_text(encoding="utf-8")).get("max_position_embeddings")
    return Transformer.from_pretrained(folder, dtype, device), tokenizer, context


def device_of_choice(name=None) -> torch.device:
    """The device of that name; by default the GPU, where there is one. ValueError for a GPU that is not there."""
    device = torch.device(name or ("cuda" if torch.cuda.is_available() else "cpu"))
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise ValueError(f"there is no device {device} here; --device cpu always works")
    return device


def _context_length(asked: int | None, of_model: int | None) -> int:
    if asked is None:
        return min(of_model or DEFAULT_CONTEXT, DEFAULT_CONTEXT)
    if of_model is not None and asked > of_model:
        raise ValueError(f"max_model_len={asked} is more than the {of_model} positions that the model knows")
    if asked < 2:
        raise ValueError(f"max_model_len={asked} leaves no room for a prompt and an answer")
    return asked
