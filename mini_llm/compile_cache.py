"""Compile once: for every size, and for every start.

Each way to build a step has a folder of its own, named by a hash of all that its code depends on, and a warm start
only loads what lies there: it does not even ask the compiler whether the graph is still the same. So the key has to
see everything. When an operator of ours once declared less than before, torch's own cache went on giving out code
made for the old one.
"""

import hashlib
import json
import logging
import os
import shutil
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from unittest.mock import patch

import torch
from torch._guards import TracingContext, tracing
from torch.fx import GraphModule

from mini_llm.config import Config

logger = logging.getLogger(__name__)
KEPT = 8  # folders, so that years of starts fill no disk
PACKAGE = Path(__file__).parent
# What the traced step calls, what changes the trace, and what the operators in it run.
SOURCES = [f"{name}.py" for name in "layers model step attention paged piecewise fusion fused_ops".split()]
SOURCES += [f"kernels/{name}.py" for name in "elementwise decode_attention launch".split()]


def cache_key(settings: Mapping, ignored: Collection[str] = ()) -> str:
    """A short name for code that was compiled under these settings: 20 hex digits, others as soon as a setting differs.

    `settings` maps names to None, bool, int, float, str, and lists and dicts (with str keys) of them; a tuple counts as
    a list. The order of a dict makes no difference, that of a list does. `ignored` names the settings that change no
    code; whatever is not named there counts. The name is the same in every process. Raises TypeError for a value of
    any other type: its text may be another at each start, or leave something out.
    """
    return _hash(json.dumps({name: settings[name] for name in settings if name not in ignored}, sort_keys=True))


def compile_once(step: Callable, backend="inductor", compile_sizes: Collection[int] = ()) -> Callable:
    """`step(x, *others)` as a compiled function that one piece of code serves for every number of rows of x.

    Only the first dimension of x differs between calls. One row has code of its own, since to torch a dimension of 1
    is a constant, and so has each size in `compile_sizes`; code for all others has a symbol in the place of the size,
    and of no other. `backend(graph_module, examples)` is called once for each, when it is first needed, or is a name
    that torch.compile knows. Nothing ever runs eagerly, however many sizes and functions there are.
    """
    codes: dict[int | None, Callable] = {}

    def run(x, *others):
        size = len(x) if len(x) in (1, *compile_sizes) else None
        if size not in codes:
            codes[size] = torch.compile(_alone(step), backend=backend, dynamic=False, fullgraph=True)
            if size is None:
                x = x[:]  # the mark would stay on the caller's tensor
                torch._dynamo.mark_dynamic(x, 0)
        return codes[size](x, *others)

    return run


def _alone(step: Callable) -> Callable:
    """`step` as code that nothing else shares: torch compiles the same code 8 times, then never again."""

    def call(*args):
        return step(*args)

    call.__code__ = call.__code__.replace()
    return call


@dataclass(frozen=True)
class CompileKey:
    """All that compiled code depends on, or may come to depend on. `digest()` names the folder.

    A field too many costs a compilation now and then; one too few gives wrong answers (vllm 16150, 53366).
    """

    model: Config
    dtype: str
    device: str
    torch: str
    matmul_precision: str
    source: str
    level: int | None
    fusions: bool
    options: str  # of torch.compile
    compile_sizes: tuple[int, ...]
    compile_ranges_endpoints: tuple[int, ...]
    max_num_seqs: int
    max_num_batched_tokens: int
    max_positions: int

    @classmethod
    def of(cls, model, options=None, **settings) -> "CompileKey":
        """The key for `model` on this machine, with this torch and this source; `settings` are the other fields."""
        weight = model.embed_tokens.weight
        for name in ("compile_sizes", "compile_ranges_endpoints"):
            settings[name] = tuple(sorted(set(settings[name])))
        return cls(
            model=model.cfg,
            dtype=str(weight.dtype),
            device=_device(weight.device),
            torch=f"{torch.__version__} {torch.version.git_version} {torch.version.cuda}",
            matmul_precision=torch.get_float32_matmul_precision(),
            source=source_digest(),
            options=repr(sorted((options or {}).items(), key=str)),
            **settings,
        )

    def digest(self) -> str:
        """A short name that differs when any field does."""
        return cache_key(asdict(self))

    def folder(self, root: Path | str | None = None) -> Path:
        """The folder for this key in `root`, by default MINI_LLM_CACHE or ~/.cache/mini_llm; made if need be.

        `key.json` in it says for people what the name stands for, and by its date when the folder was used last. Of
        all folders the `KEPT` that were used last stay.
        """
        root = Path(root or os.environ.get("MINI_LLM_CACHE") or "~/.cache/mini_llm").expanduser() / "compiled"
        folder = root / self.digest()
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "key.json").write_text(json.dumps(asdict(self), indent=1), encoding="utf-8")
        used = sorted(root.glob("*/key.json"), key=lambda file: file.stat().st_mtime, reverse=True)
        for old in used[KEPT:]:
            shutil.rmtree(old.parent, ignore_errors=True)
        return folder


class KeptCompiler:
    """`compiler(module, examples)`: Inductor's code for a traced piece, from `folder` if it lies there already.

    `examples` are tensors without memory, as `fusion.example_inputs` makes them; `options` are Inductor's settings.
    What is loaded needs no trace, no autograd and no guards, the larger part of a warm start otherwise.
    """

    def __init__(self, folder: Path, options: dict | None = None):
        self.folder, self.options = folder, options or {}
        self.calls = 0  # pieces come in the same order at every start

    def __call__(self, module: GraphModule, examples: list[torch.Tensor]) -> Callable[..., tuple]:
        from torch._inductor import CompiledArtifact, standalone_compile  # seconds, which only this needs

        file = self.folder / f"{self.calls}-{_hash(module.code)}"
        self.calls += 1
        with patch.dict(os.environ, TORCHINDUCTOR_CACHE_DIR=str(self.folder)):
            if file.is_file():
                try:
                    return CompiledArtifact.load(path=str(file))
                except Exception as error:  # whatever a damaged file leads to, compiling again helps
                    logger.warning("%s cannot be read (%s): compiling again", file, error or type(error).__name__)
            with tracing(TracingContext(examples[0].fake_mode)):
                code = standalone_compile(
                    module, examples, dynamic_shapes="from_tracing_context", options={"config_patches": self.options}
                )
            try:
                code.save(path=str(file))
            except RuntimeError as error:
                logger.warning("compiled code cannot be kept, the next start compiles again: %s", error)
        return code


def source_digest() -> str:
    """Stands for the text of SOURCES: a step that was edited is another step."""
    return _hash("".join(f"{name}\n{(PACKAGE / name).read_text(encoding='utf-8')}" for name in SOURCES))


def _device(device: torch.device) -> str:
    if device.type == "cuda":
        return f"{torch.cuda.get_device_name(device)} {torch.cuda.get_device_capability(device)}"
    return f"{device.type} {torch.backends.cpu.get_cpu_capability()}"


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:20]
