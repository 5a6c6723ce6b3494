"""The package as a whole: its names, and what importing it costs."""

import subprocess
import sys
from pathlib import Path

import pytest

import mini_llm

ROOT = Path(__file__).resolve().parents[2]


def test_every_name_is_there_and_comes_from_its_module():
    for name in mini_llm.__all__:
        assert getattr(mini_llm, name).__name__ == name
        assert name in dir(mini_llm)


def test_star_import_brings_the_names():
    names = {}
    exec("from mini_llm import *", names)
    assert set(mini_llm.__all__) <= set(names)


def test_no_name_is_hidden_by_a_module():
    """`import mini_llm.generate` would put the module where the function belongs."""
    modules = {file.stem for file in (ROOT / "mini_llm").glob("*.py")}
    assert not modules & set(mini_llm.__all__)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="'mini_llm' has no attribute 'nothing'"):
        _ = mini_llm.nothing
    with pytest.raises(ImportError):
        exec("from mini_llm import nothing")


def test_a_piece_that_changes_is_seen_through_the_package(monkeypatch):
    import mini_llm.buckets

    assert mini_llm.pad_to is mini_llm.buckets.pad_to
    monkeypatch.setattr(mini_llm.buckets, "pad_to", "grown")
    assert mini_llm.pad_to == "grown"


@pytest.mark.parametrize(
    "statement", ["import mini_llm.buckets", "import mini_llm; mini_llm.pad_to(3, [4])", "import mini_llm.launches"]
)
def test_what_needs_no_torch_imports_none(statement):
    code = f"import sys; {statement}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 0


def test_loading_weights_needs_no_transformers(tiny_model):
    code = (
        "import sys; sys.modules['transformers'] = None; from mini_llm import Transformer; "
        f"Transformer.from_pretrained({str(tiny_model)!r})"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
