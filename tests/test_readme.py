"""The README's commands exist, its links lead somewhere, and the output it shows is what the command prints."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def flat(text: str) -> str:
    """Without what differs from run to run: the seed, the seconds, the layers, the line breaks."""
    text = re.sub(r"seed \d+", "seed N", text)
    text = re.sub(r"\d+\.\d s\b", "T s", text)
    text = re.sub(r"process( \+ \w+)*", "process", text)
    return " ".join(text.split())


def test_the_judges_output_is_what_it_prints(tmp_path, monkeypatch):
    from judging import run

    monkeypatch.setenv("MINI_LLM_WORKSPACE", str(tmp_path / "workspace"))
    monkeypatch.setenv("COLUMNS", "300")
    shown = re.search(r"\$ python practice/judge.py 133\n(.*?)```", README, re.S)[1]
    printed = run(133, cwd=ROOT).stdout.replace(str(tmp_path / "workspace"), "workspace")
    assert flat(printed) == flat(shown)


@pytest.mark.parametrize(
    "readme", [p for p in ROOT.rglob("*.md") if ".venv" not in p.parts and "corpus" not in p.parts]
)
def test_links_and_paths_exist(readme):
    text = readme.read_text(encoding="utf-8")
    for link in re.findall(r"\]\((?!https?:|#|mailto:)([^)\s]+)\)", text):
        assert (readme.parent / link).exists(), f"{readme.relative_to(ROOT)} links to {link}"


def test_the_table_names_what_is_there():
    section = README.split("## Where things live")[1]
    for path in re.findall(r"`((?:course|mini_llm|practice|tests)/[\w./]+)`", section):
        assert (ROOT / path).exists(), path


def test_make_targets_exist():
    for command in re.findall(r"`?make (\w+)", README):
        ran = subprocess.run(["make", "-n", command], cwd=ROOT, capture_output=True, text=True)
        assert ran.returncode == 0, f"make {command}: {ran.stderr}"
