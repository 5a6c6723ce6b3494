"""Keep compiled code from one start to the next, apart by everything that changes it.

torch keeps what it compiles, on disk, and finds it again by graph and options. That is the cache; this module
only gives each way to build a step a folder of its own. It has to: torch does not see all that the code depends
on. When an operator of ours once declared less than before, torch went on running code made for the old one.
"""

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from unittest.mock import patch

import torch

from mini_llm.config import Config

PACKAGE = Path(__file__).parent
# What the traced step calls, what changes the trace, and what the operators in it run.
SOURCES = [f"{name}.py" for name in "layers model step attention paged piecewise fusion fused_ops".split()]
SOURCES += [f"kernels/{name}.py" for name in "elementwise decode_attention launch".split()]


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
        return _hash(json.dumps(asdict(self), sort_keys=True))

    def folder(self, root: Path | str | None = None) -> Path:
        """The folder for this key in `root`, by default MINI_LLM_CACHE or ~/.cache/mini_llm; made if need be.

        `key.json` in it says for people what the name stands for.
        """
        root = Path(root or os.environ.get("MINI_LLM_CACHE") or "~/.cache/mini_llm").expanduser()
        folder = root / "compiled" / self.digest()
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "key.json").write_text(json.dumps(asdict(self), indent=1), encoding="utf-8")
        return folder


@contextmanager
def code_kept_in(folder: Path) -> Iterator[None]:
    """What torch compiles in here it looks for in `folder`, and leaves there."""
    with patch.dict(os.environ, TORCHINDUCTOR_CACHE_DIR=str(folder)):
        yield


def source_digest() -> str:
    """Stands for the text of SOURCES: a step that was edited is another step."""
    return _hash("".join(f"{name}\n{(PACKAGE / name).read_text(encoding='utf-8')}" for name in SOURCES))


def _device(device: torch.device) -> str:
    if device.type == "cuda":
        return f"{torch.cuda.get_device_name(device)} {torch.cuda.get_device_capability(device)}"
    return f"{device.type} {torch.backends.cpu.get_cpu_capability()}"


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:20]
