"""The judge's command: `python practice/judge.py 133`. `--help` lists what it does.

Starts again in a clean interpreter (isolated: no PYTHON* variables, no user packages, no bytecode written) of the
Python that has the course's packages: this one, or the one that `make learn` put into .venv.
"""

import gc
import os
import sys
from importlib.util import find_spec
from pathlib import Path

PRACTICE = Path(__file__).resolve().parent
ROOT = PRACTICE.parent
VENV_PYTHON = ROOT / ".venv" / "bin" / "python"
PACKAGES = ("pytest", "msgpack", "yaml", "rich")


def with_standard_streams() -> None:
    """Opens what the shell has closed (`<&-`, `>&-`): nobody reads there, and nothing is written to another file."""
    for fd in range(3):
        try:
            os.fstat(fd)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))


def has_packages() -> bool:
    return sys.version_info >= (3, 11) and all(find_spec(name) for name in PACKAGES)


def in_clean_interpreter() -> int:
    """Runs the command if this interpreter is isolated and complete; otherwise becomes one that is."""
    isolated = sys.flags.isolated and sys.dont_write_bytecode
    if isolated and has_packages():
        sys.path.insert(0, str(PRACTICE))
        from grader.cli import main

        code = main(sys.argv[1:], prog=str(Path(__file__)))
        gc.freeze()  # or Python looks for cycles among all that torch made before it exits: 0.3 s
        return code
    if has_packages() and not isolated:
        python = sys.executable
    elif VENV_PYTHON.exists() and not isolated:
        python = str(VENV_PYTHON)
    else:
        print(f"judge: the course's environment is not there yet; run `make learn` in {ROOT} first.", file=sys.stderr)
        return 3
    sys.stdout.flush()
    os.execv(python, [python, "-I", "-B", "-X", "utf8", str(Path(__file__).resolve()), *sys.argv[1:]])


if __name__ == "__main__":
    with_standard_streams()
    try:
        sys.exit(in_clean_interpreter())
    except KeyboardInterrupt:  # while the judge itself is being imported
        print("\nstopped", file=sys.stderr)
        sys.exit(130)
