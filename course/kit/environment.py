"""Makes `.venv` from pyproject.toml and constraints.txt: dependencies only, nothing of ours.

Run by `make` with any Python 3.11 or newer and nothing installed, so this file uses the standard library alone:

    python3 course/kit/environment.py [--extras course,dev] [--torch cpu]

A second run compares a fingerprint of the two files with the one that the environment was made from, and
installs only when they differ.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CPU_INDEX = "https://download.pytorch.org/whl/cpu"  # PyTorch's own index of CPU builds
NEEDS = (3, 11)


def dependencies(extras: list[str], root: Path = ROOT) -> list[str]:
    """The requirement strings of pyproject.toml: the base ones, then those of each extra."""
    import tomllib

    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    unknown = [e for e in extras if e not in project["optional-dependencies"]]
    if unknown:
        known = ", ".join(project["optional-dependencies"])
        raise SystemExit(f"environment: no extra named {unknown[0]!r} in pyproject.toml; there are {known}.")
    return project["dependencies"] + [d for e in extras for d in project["optional-dependencies"][e]]


def fingerprint(wanted: list[str], torch: str, root: Path = ROOT) -> str:
    """A hash of everything that decides what is installed."""
    pins = (root / "constraints.txt").read_text(encoding="utf-8")
    return hashlib.sha256(json.dumps([wanted, pins, torch, sys.version_info[:2]]).encode()).hexdigest()


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="environment", description=__doc__.split("\n\n")[0])
    parser.add_argument("--extras", default="course,dev", help="extras of pyproject.toml, comma separated")
    parser.add_argument(
        "--torch",
        choices=("default", "cpu"),
        default="default",
        help="cpu: take PyTorch's CPU build, for a Linux laptop without a GPU",
    )
    parser.add_argument("--venv", type=Path, default=ROOT / ".venv")
    args = parser.parse_args(argv)

    venv: Path = args.venv
    python = venv / "bin" / "python"
    stamp = venv / ".course-fingerprint"
    wanted = dependencies([e for e in args.extras.split(",") if e])
    mark = fingerprint(wanted, args.torch)
    if python.exists() and stamp.exists() and stamp.read_text() == mark:
        return 0

    if not python.exists():
        print(f"Making the environment in {venv.name}/ (once).", flush=True)
        made = subprocess.run([sys.executable, "-m", "venv", str(venv)])
        if made.returncode:
            shutil.rmtree(venv, ignore_errors=True)
            print(
                "environment: Python could not make a virtual environment; on Debian and Ubuntu "
                "`sudo apt install python3-venv` brings what is missing.",
                file=sys.stderr,
            )
            return 1
    print(announcement(args.torch), flush=True)
    stamp.unlink(missing_ok=True)
    pip = [str(python), "-m", "pip", "install", "--disable-pip-version-check", "--progress-bar", "on"]
    env = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    if args.torch == "cpu":
        # Only torch comes from that index; the rest must not be looked up there.
        steps = [["--index-url", CPU_INDEX, pinned("torch")], ["-c", str(ROOT / "constraints.txt"), *wanted]]
    else:
        steps = [["-c", str(ROOT / "constraints.txt"), *wanted]]
    for step in steps:
        if subprocess.run(pip + step, env=env).returncode:
            print(
                "environment: pip did not finish; what it had downloaded is kept, so run the same command "
                "again. If it ran out of disk, `TORCH=cpu` asks for a much smaller torch.",
                file=sys.stderr,
            )
            return 1
    stamp.write_text(mark)
    return 0


def pinned(name: str) -> str:
    """The line `name==version` of constraints.txt."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").split()
    return next(line for line in lines if line.lower().startswith(name + "=="))


def announcement(torch: str) -> str:
    """What is about to be downloaded, in one sentence, before a single byte is."""
    if torch == "cpu" or sys.platform == "darwin":
        return "Installing PyTorch's CPU build and JupyterLab: a few hundred MB to download, some minutes."
    return (
        "Installing PyTorch and JupyterLab: on Linux pip's default PyTorch brings CUDA, several GB to download. "
        "Without an NVIDIA GPU, stop with Ctrl-C and add TORCH=cpu: a few hundred MB."
    )


if __name__ == "__main__":
    if sys.version_info < NEEDS:
        sys.exit(
            f"This course needs Python 3.11 or newer; this is {sys.version.split()[0]}. "
            "Name a newer one: make learn PYTHON=python3.12"
        )
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("\nenvironment: stopped; the same command goes on where this one ended.")
