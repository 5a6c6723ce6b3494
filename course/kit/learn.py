"""What `make learn` does once the environment stands: the workspace, then JupyterLab at the first chapter.

`OPEN=0` in the environment (or --no-open) only says what would be opened.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from urllib.parse import quote

from grader import workspace
from grader.problems import ROOT
from grader.workspace import sha, shown, write

FORMAT = "1"  # of a release; a change makes every notebook anew
SETTINGS = ROOT / "course" / "kit" / "lab"  # JupyterLab's settings for learners (see its README)


def bring_notebooks(ws: Path, source: Path = ROOT / "course" / "source") -> list[str]:
    """Brings the release of every chapter into the workspace; returns the lines to tell its owner.

    A notebook that was opened and saved since is the learner's: the changed one is put beside it.
    """
    manifest = workspace.read_manifest(ws)
    known = manifest.get("notebooks", {})
    said, now = [], {}
    for path in sorted(source.glob("*/*.ipynb")):
        was = known.get(path.name, {})
        mark = sha(FORMAT.encode() + path.read_bytes())
        mine = ws / path.name
        now[path.name] = was
        if was.get("source") == mark and mine.exists():
            continue
        new = _released(path)
        now[path.name] = {"source": mark, "handed": sha(new)}
        if not mine.exists():
            write(mine, new)
            said.append(f"{shown(mine)} is new.")
        elif sha(mine.read_bytes()) in (sha(new), was.get("handed")):
            if mine.read_bytes() != new:
                write(mine, new)
                said.append(f"{shown(mine)} is up to date again.")
        elif was.get("handed") != sha(new):
            beside = mine.with_suffix(".new.ipynb")
            write(beside, new)
            said.append(
                f"{shown(mine)} is as you left it; the course has a newer one, beside it: {beside.name}."
            )
    if now != known:
        workspace.write_manifest(ws, {**workspace.read_manifest(ws), "notebooks": now})
    return said


def _released(path: Path) -> bytes:
    import nbformat

    from kit.build import as_bytes
    from kit.release import release

    return as_bytes(release(nbformat.reads(path.read_text(encoding="utf-8"), as_version=4)))


def lab_command(ws: Path, notebook: Path | None) -> list[str]:
    """JupyterLab on the workspace, at a notebook."""
    command = [sys.executable, "-m", "jupyterlab", f"--ServerApp.root_dir={ws}"]
    command += [f"--LabApp.app_settings_dir={SETTINGS}"]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        command.append("--allow-root")  # in a container
    if notebook:
        # Not as an argument: the address that is printed where no browser opens must lead there too.
        command.append(f"--LabApp.default_url=/lab/tree/{quote(notebook.relative_to(ws).as_posix())}")
    return command


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m kit.learn", description=__doc__.split("\n\n")[0])
    parser.add_argument("--no-open", action="store_true", help="say what would be opened, and end")
    args = parser.parse_args(argv)
    ws = workspace.path()
    said = workspace.ensure_package(ws) + bring_notebooks(ws)
    for line in said:
        print(line)
    first = next((ws / p.name for p in sorted((ROOT / "course" / "source").glob("*/*.ipynb"))), None)
    if first is None:
        print(
            "learn: there is no notebook in course/source yet; `make notebooks` builds them.", file=sys.stderr
        )
        return 1
    if args.no_open or os.environ.get("OPEN") == "0":
        print(f"Ready, nothing opened. It would be JupyterLab in {shown(ws)}, at /lab/tree/{first.name}.")
        return 0
    print(
        f"Opening JupyterLab in {shown(ws)} at {first.name}. Ctrl-C here ends it.",
        flush=True,
    )
    # The notebooks' kernels and what they start must find this environment's commands first.
    bin_folder = str(Path(sys.executable).parent)
    os.environ["PATH"] = os.pathsep.join([bin_folder, os.environ.get("PATH", "")])
    os.environ["MINI_LLM_COURSE"] = str(ROOT)
    os.environ.pop("PYTHONPATH", None)  # the notebook's first cell says where things are
    os.chdir(ws)
    os.execv(sys.executable, lab_command(ws, first))


if __name__ == "__main__":
    sys.exit(main())
