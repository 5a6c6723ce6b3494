"""Where a model is looked for, and what is said when it is not there."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mini_llm.checkpoints import ModelNotFound, find_model, known_model, models_folder

ROOT = Path(__file__).resolve().parents[2]


def test_a_path_is_itself(models, tiny_model):
    assert find_model(tiny_model) == tiny_model
    assert find_model(str(tiny_model)) == tiny_model


@pytest.mark.parametrize(
    "name", ["smollm2", "SmolLM2", "SmolLM2-135M-Instruct", "HuggingFaceTB/SmolLM2-135M-Instruct",
             "models/SmolLM2-135M-Instruct", "models/smollm2"],
)  # fmt: skip
def test_a_known_model_is_found_by_any_of_its_names(models, tiny_model, name):
    shutil.copytree(tiny_model, models / "SmolLM2-135M-Instruct")
    assert find_model(name).resolve() == (models / "SmolLM2-135M-Instruct").resolve()


def test_a_model_of_ones_own_is_found_by_its_folder(models, tiny_model, tmp_path, monkeypatch):
    shutil.copytree(tiny_model, models / "mine")
    shutil.copytree(tiny_model, tmp_path / "elsewhere" / "models" / "here")
    assert find_model("mine").resolve() == (models / "mine").resolve()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert find_model("mine").resolve() == (models / "mine").resolve()
    assert find_model("here").resolve() == (tmp_path / "elsewhere" / "models" / "here").resolve()
    assert find_model("models/here").resolve() == (tmp_path / "elsewhere" / "models" / "here").resolve()


def test_the_hub_cache_is_looked_at_last(models, tiny_model, tmp_path, monkeypatch):
    pytest.importorskip("huggingface_hub")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    repo = tmp_path / "hub" / "models--Qwen--Qwen3-0.6B"
    revision = "0123456789abcdef0123456789abcdef01234567"
    shutil.copytree(tiny_model, repo / "snapshots" / revision)
    (repo / "refs").mkdir()
    (repo / "refs" / "main").write_text(revision)
    assert find_model("qwen3-0.6b") == repo / "snapshots" / revision
    assert find_model("Qwen/Qwen3-0.6B") == repo / "snapshots" / revision
    (repo / "snapshots" / revision / "model.safetensors").unlink()  # a cache that only holds a tokenizer
    with pytest.raises(ModelNotFound):
        find_model("qwen3-0.6b")


def test_a_missing_model_says_how_to_get_it(models):
    with pytest.raises(ModelNotFound, match=r"`python -m mini_llm fetch smollm2`"):
        find_model("smollm2")
    with pytest.raises(ModelNotFound, match=r"`python -m mini_llm fetch qwen3-0\.6b`"):
        find_model("models/Qwen3-0.6B")
    with pytest.raises(ModelNotFound, match=r"'nobody/nothing'.*`python -m mini_llm fetch smollm2`"):
        find_model("nobody/nothing")


def test_from_pretrained_says_so_too(models):
    from mini_llm import Transformer

    with pytest.raises(FileNotFoundError, match=r"`python -m mini_llm fetch smollm2`"):
        Transformer.from_pretrained("smollm2")


def test_a_folder_without_a_model_is_named(models, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(ModelNotFound, match=r"empty holds no model.*config\.json"):
        find_model(tmp_path / "empty")


def test_known_names():
    assert known_model("QWEN3-0.6B").repo == "Qwen/Qwen3-0.6B"
    assert known_model("gpt2") is None


def test_a_workspace_shares_the_models_of_its_course(tmp_path):
    """The package copied to workspace/, as learners have it, looks in the course's models/."""
    course = tmp_path / "course"
    for place in (course, course / "workspace"):
        shutil.copytree(ROOT / "mini_llm", place / "mini_llm", ignore=shutil.ignore_patterns("__pycache__"))

    def where(cwd):
        code = "from mini_llm.checkpoints import models_folder; print(models_folder())"
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, cwd=cwd, env={"PATH": ""}, capture_output=True, text=True, check=True)
        return Path(done.stdout.strip())

    assert where(course) == (course / "models").resolve()
    assert where(course / "workspace") == (course / "models").resolve()


def test_the_folder_can_be_set(models):
    assert models_folder() == models
