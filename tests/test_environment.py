"""One home for the packages: pyproject.toml. Everything that repeats them is held to it here."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

from kit import environment

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PINNED_BY_TORCH = {"triton"}
WANTED = environment.dependencies(["course", "dev"])


def pins() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    rows = [line.split("==") for line in lines if line and not line.startswith("#")]
    return {name.lower().replace("_", "-"): version for name, version in rows}


def test_environment_yml_lists_what_pyproject_lists():
    conda = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))["dependencies"]
    pip = next(row["pip"] for row in conda if isinstance(row, dict))
    assert pip == ["-c constraints.txt", *WANTED]
    assert f"python{PROJECT['requires-python']}" in conda


def test_every_dependency_has_a_pin_within_its_range():
    for text in WANTED:
        requirement = Requirement(text)
        name = requirement.name.lower().replace("_", "-")
        if name in PINNED_BY_TORCH:
            assert name not in pins()
            continue
        assert name in pins(), f"constraints.txt has no version for {name}"
        assert requirement.specifier.contains(pins()[name]), f"{text} does not allow {pins()[name]}"


def test_what_is_installed_here_is_what_is_pinned():
    import importlib.metadata

    if Path(sys.prefix) != ROOT / ".venv":
        pytest.skip("this Python is not the course's .venv, so its versions are its owner's business")
    for text in WANTED:
        requirement = Requirement(text)
        if requirement.name in PINNED_BY_TORCH:
            continue
        if requirement.marker is None or requirement.marker.evaluate():
            found = importlib.metadata.version(requirement.name).split("+")[0]
            assert found == pins()[requirement.name.lower().replace("_", "-")], requirement.name


def test_nothing_of_ours_is_installed():
    ran = subprocess.run(
        [
            sys.executable,
            "-I",
            "-c",
            "import importlib.util as u; print([u.find_spec(n) for n in ('mini_llm', 'kit')])",
        ],
        capture_output=True,
        text=True,
        cwd="/",
    )
    assert ran.stdout.strip() == "[None, None]"


def test_an_unknown_extra_is_named():
    with pytest.raises(SystemExit, match="no extra named 'gpu'"):
        environment.dependencies(["gpu"])


def test_the_fingerprint_changes_with_what_it_stands_for(tmp_path):
    for name in ("pyproject.toml", "constraints.txt"):
        (tmp_path / name).write_text((ROOT / name).read_text())
    first = environment.fingerprint(WANTED, "default", tmp_path)
    assert first == environment.fingerprint(WANTED, "default", tmp_path)
    assert first != environment.fingerprint(WANTED, "cpu", tmp_path)
    assert first != environment.fingerprint(WANTED[1:], "default", tmp_path)
    (tmp_path / "constraints.txt").write_text("torch==1.0\n")
    assert first != environment.fingerprint(WANTED, "default", tmp_path)


def test_an_up_to_date_environment_is_left_alone(tmp_path):
    """A second `make` must take no time: the stamp alone decides."""
    venv = tmp_path / "venv"
    (venv / "bin").mkdir(parents=True)
    (venv / "bin" / "python").symlink_to("/bin/false")
    (venv / ".course-fingerprint").write_text(environment.fingerprint(WANTED, "default"))
    assert environment.main(["--venv", str(venv)]) == 0


def test_the_script_needs_nothing_installed():
    """It runs before anything is: no site packages at all."""
    ran = subprocess.run(
        [os.path.realpath(sys.executable), "-S", "-I", str(ROOT / "course" / "kit" / "environment.py"), "--help"],
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0 and "--torch" in ran.stdout


def test_no_line_of_the_repository_names_a_machine():
    """Paths of the machine something was written on, or of a session's tools, help nobody else."""
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if tracked.returncode:
        pytest.skip("not a git checkout")
    words = [f"/{'work'}/main", f"/{'work'}/shared", f"/{'root'}/.pyenv", ".library/", "file:///opt/"]
    for name in tracked.stdout.split("\n"):
        path = ROOT / name
        if not path.is_file() or name.startswith("tests/corpus/") or path == Path(__file__):
            continue
        text = path.read_bytes()
        for word in words:
            assert word.encode() not in text, f"{name} names {word}"
