"""`judge.py doctor`: what the sandbox is made of on this machine, and what would make it stronger."""

from __future__ import annotations

import os
import sys

from grader import layers
from grader.problems import ROOT, load_all
from grader.session import Session


def report(console) -> bool:
    """Prints one line for each layer, tried for real; True when a strong one works."""
    print_line = console.print
    print_line(f"Python {sys.version.split()[0]} at {os.path.relpath(sys.executable, ROOT)}")
    problem = next(iter(load_all().values()))
    strong = False
    for asked in (("bubblewrap",), ("landlock", "seccomp"), ("landlock",), ("process",)):
        name = " + ".join(asked) if asked != ("process",) else "process alone"
        try:
            with Session(problem, b"", "nothing", asked=asked):
                print_line(f"  {name:20} works")
                strong = strong or layers.strong(asked)
        except layers.SandboxError as e:
            print_line(f"  {name:20} no: {str(e).removeprefix('--sandbox asks for ' + asked[0] + ', but ')}")
    with Session(problem, b"", "nothing") as session:
        print_line(f"A judgement here runs under: {' + '.join(session.sandbox)}")
    if not strong:
        print_line(
            "No strong layer works: the learner's code can read the disk. Your own code may be judged like "
            "this; a class may not."
        )
        if sys.platform == "linux":
            print_line(
                "Installing bubblewrap brings one. Ubuntu 24.04 allows it only with an AppArmor profile for bwrap "
                "(package apparmor-profiles), because it forbids user namespaces otherwise."
            )
    return strong
