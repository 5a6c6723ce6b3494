"""Runs the judge on hostile files where they can do no harm: a throwaway copy of the course, an unprivileged
user, and namespaces of their own for processes and network (tests/corpus/133/README.md)."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from grader import layers
from grader.problems import ROOT

NOT_COPIED = shutil.ignore_patterns(
    ".git",
    ".venv",
    "workspace",
    "models",
    "__pycache__",
    ".pytest_cache",
    "release",
    "submitted",
    "autograded",
    "feedback",
    "node_modules",
    "corpus",
)


@functools.cache
def why_not() -> str | None:
    """Why hostile files cannot be contained here, or None."""
    if sys.platform != "linux":
        return "hostile files are contained with Linux namespaces"
    if shutil.which("unshare") is None:
        return "unshare (util-linux) is not installed"
    tried = subprocess.run([*_unshare(), "true"], capture_output=True, text=True)
    return None if tried.returncode == 0 else f"unshare does not work here: {tried.stderr.strip()}"


def _unshare() -> list[str]:
    if os.geteuid() == 0:
        return ["unshare", "--mount", "--fork", "--pid", "--kill-child", "--mount-proc", "--net", "--"]
    return ["unshare", "--user", "--map-current-user", "--fork", "--pid", "--kill-child", "--mount-proc", "--net", "--"]


def _let_nobody_reach_python(hold: Path) -> str:
    """Shell lines that, in the mount namespace of the run alone, show Python where others may not enter (/root).

    `hold` is an empty folder; what is mounted there is gone with the namespace.
    """
    closed: dict[Path, list[str]] = {}
    for path in dict.fromkeys(layers.python_paths()):
        for folder in reversed(Path(path).parents):
            if not folder.stat().st_mode & 0o001:
                closed.setdefault(folder, []).append(path)
                break
    before, after = [], []
    for folder, paths in closed.items():
        outermost = [p for p in paths if not any(p != q and Path(p).is_relative_to(q) for q in paths)]
        after.append(f"mount -t tmpfs -o mode=755 tmpfs {shlex.quote(str(folder))}")
        for path in outermost:
            kept = hold / str(len(before))
            before.append(f"mkdir {kept} && mount --bind {shlex.quote(path)} {kept}")
            after.append(f"mkdir -p {shlex.quote(path)} && mount --bind {kept} {shlex.quote(path)}")
    return "\n".join(["set -e", *before, *after])


class Course:
    """A throwaway copy of the course, owned by the user that the hostile files run as."""

    def __init__(self, folder: Path):
        self.path = folder / "course"
        shutil.copytree(ROOT, self.path, ignore=NOT_COPIED)
        (self.path / "notes").mkdir()
        (self.path / "notes" / "ch07.md").write_text("mine\n")  # what one of the files tries to overwrite
        (self.path / "workspace").mkdir()
        (self.path / "workspace" / "progress.json").write_text("{}\n")
        self.folder = folder
        if os.geteuid() == 0:
            subprocess.run(["chown", "-R", f"{layers.NOBODY}:{layers.NOBODY}", str(folder)], check=True)
            for parent in folder.parents:
                if not parent.stat().st_mode & 0o001:
                    raise RuntimeError(f"nobody may not enter {parent}")

    def checksum(self) -> str:
        """Of every file's path and bytes."""
        total = hashlib.sha256()
        for path in sorted(self.path.rglob("*")):
            total.update(f"{path.relative_to(self.path)} {path.is_dir()} {path.is_symlink()}\n".encode())
            if path.is_file():
                total.update(path.read_bytes())
        return total.hexdigest()

    def judge(self, *arguments: str, name: str, seconds: float = 200) -> tuple[dict, int]:
        """`judge.py ARGUMENTS --json` in there: (the JSON object, the exit status)."""
        temporary = self.folder / f"tmp-{name}"
        temporary.mkdir()
        temporary.chmod(0o777)
        command = [sys.executable, str(self.path / "judge.py"), *arguments, "--json"]
        line = shlex.join(command)
        if os.geteuid() == 0:
            drop = f"setpriv --reuid {layers.NOBODY} --regid {layers.NOBODY} --clear-groups"
            hold = self.folder / f"hold-{name}"
            hold.mkdir()
            line = f"{_let_nobody_reach_python(hold)}\nexec {drop} {line}"
        ran = subprocess.run(
            [*_unshare(), "sh", "-c", line],
            capture_output=True,
            text=True,
            timeout=seconds,
            cwd="/",
            env={
                "PATH": os.environ["PATH"],
                "TMPDIR": str(temporary),
                "HOME": "/nonexistent",
                **{k: v for k, v in os.environ.items() if k.startswith("OPENBLAS")},
            },
        )
        left = sorted(p.name for p in temporary.iterdir())
        assert not left, f"{name} left {left} in the temporary folder"
        assert ran.stdout.strip(), f"the judge said nothing: {ran.stderr}"
        return json.loads(ran.stdout.splitlines()[-1]), ran.returncode
