"""`judge.py doctor`: what the sandbox is made of on this machine, and what would make it stronger."""

from __future__ import annotations

import json
import os
import sys

from grader import layers, workspace
from grader.problems import ROOT, load_all
from grader.session import Session
from grader.usage import ACCEPTED, NOT_ACCEPTED, Parser, one_line, spelled

ASKED = (("bubblewrap",), ("landlock", "seccomp"), ("landlock",), ("process",))


def doctor(argv: list[str], prog: str) -> int:
    parser = Parser(
        prog,
        "doctor",
        "Tries every layer of the sandbox for real and says which ones work here, and what is missing. Exit status 0 "
        "when a strong one works, else 1.",
    )
    parser.takes_json()
    args = parser.parse_args(argv)
    found = examine()
    if args.json:
        print(json.dumps(found))
    else:
        _print(found, prog)
    return ACCEPTED if found["strong"] else NOT_ACCEPTED


def examine() -> dict:
    """What works: python, workspace, layers (each with name, works, why and note), sandbox, strong, tensors."""
    problem = min(load_all().values(), key=lambda p: p.torch)  # torch takes seconds to import
    rows = []
    for asked in ASKED:
        why = ""
        try:
            with Session(problem, b"", "nothing", asked=asked):
                pass
        except layers.SandboxError as e:
            why = str(e).removeprefix(f"--sandbox asks for {asked[0]}, but ")
        name = " + ".join(asked) if asked != ("process",) else "process alone"
        note = ""
        if asked == ("bubblewrap",) and not why and not layers.filter_of(asked):
            note = "without libseccomp the kernel's keyring stays shared: install libseccomp2"
        rows.append({"name": name, "works": not why, "why": why, "note": note, "strong": layers.strong(asked)})
    try:
        with Session(problem, b"", "nothing") as session:
            sandbox = session.sandbox
    except layers.SandboxError:
        sandbox = []
    tensors = ""
    if sandbox and layers.gpu_devices():
        with Session(max(load_all().values(), key=lambda p: p.torch), b"", "nothing") as session:
            why = f"CPU: the sandbox cannot use the GPU that is here ({session.without_gpu})"
            tensors = why if session.without_gpu else {"cuda": "GPU", "cpu": "CPU"}[session.device]
    return {
        "python": sys.version.split()[0],
        "executable": sys.executable,
        "workspace": str(workspace.path()),
        "workspace_exists": workspace.path().is_dir(),
        "layers": rows,
        "sandbox": sandbox,
        "strong": any(r["works"] and r["strong"] for r in rows),
        "tensors": tensors,  # where they are in a judgement; empty without a GPU's device files
    }


def _print(found: dict, prog: str) -> None:
    from rich.table import Table

    from grader.terminal import Text, console

    out = console()
    out.print(f"Python {found['python']} at {os.path.relpath(found['executable'], ROOT)}", soft_wrap=True)
    there = "" if found["workspace_exists"] else " (not made yet: `make learn` or `judge.py start 133` makes it)"
    where = one_line(workspace.shown(workspace.path()))
    out.print(f"Workspace: {where}{spelled(there, prog)}", soft_wrap=True)
    table = Table.grid(padding=(0, 2))
    for row in found["layers"]:
        works = f"works, but {row['note']}" if row["note"] else "works"
        table.add_row(f"  {row['name']}", Text(works if row["works"] else f"no: {row['why']}"))
    out.print(table)
    if found["sandbox"]:
        out.print(f"A judgement here runs under: {' + '.join(found['sandbox'])}")
        if found["tensors"]:
            out.print(f"Its tensors are on the {found['tensors']}")
    else:
        out.print("No judgement can run here: not even a plain process starts.")
    if found["strong"]:
        return
    out.print(
        "No strong layer works: the learner's code can read the disk. Your own code may be judged like "
        "this; a class may not."
    )
    if sys.platform == "linux":
        out.print(
            "Installing bubblewrap brings one. Ubuntu 24.04 allows it only with an AppArmor profile for bwrap "
            "(package apparmor-profiles), because it forbids user namespaces otherwise."
        )
