"""What the judge costs beside plain pytest on the same tests: python bench/judge.py

Both judge the reference, each in a process of its own, in turns, so that a busy machine slows both. Plain pytest runs
the hidden tests with the learner's code in its own process: no worker, no wire, no sandbox. What counts is the ratio;
beside it, the seconds from a save to its verdict in `watch`.
"""

import argparse
import functools
import importlib.util
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import time
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "practice")]

from grader import problems  # noqa: E402
from grader.checks import Check  # noqa: E402
from grader.diagnose import reference_source  # noqa: E402
from grader.faults import Raised  # noqa: E402
from grader.wire import Handle  # noqa: E402

JUDGE = ROOT / "practice" / "judge.py"
PLAIN = "--plain"  # N FILE: plain pytest, in a process of its own


def module(name: str, path: Path):
    spec = importlib.util.spec_from_file_location(name, path)
    made = importlib.util.module_from_spec(spec)
    sys.modules[name] = made
    spec.loader.exec_module(made)
    return made


class InProcess:
    """Stands where the judge's `Solution` stands, and calls the functions right here."""

    def __init__(self, problem: problems.Problem, path: Path):
        self.module = module("solution", path)
        scene = problem.folder / "scene.py"
        self.scene = module("scene", scene) if scene.exists() else None
        self.kept, self.warned, self.count, self.reply_bytes = {}, [], 0, 0

    def __getattr__(self, name: str):
        return functools.partial(self.called, getattr(self.module, name))

    def called(self, function, *args, **kwargs):
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                value = function(*args, **kwargs)
        except Exception as e:
            raise Raised(str(e), trace=f"{type(e).__name__}: {e}", kind=type(e).__name__) from e
        self.warned = [str(w.message) for w in caught]
        return value

    def handle(self, name: str) -> Handle:
        self.count += 1
        return Handle(self.count, name)

    def resolve(self, x):
        if type(x) is Handle:
            return self.kept[x.id]
        if type(x) in (list, tuple):
            return type(x)(map(self.resolve, x))
        return {k: self.resolve(v) for k, v in x.items()} if type(x) is dict else x

    def run(self, op, target, name, args, kwargs, keep=None):
        args, kwargs = self.resolve(args), self.resolve(kwargs)
        where = {"scene": self.scene, "call": self.module}.get(op) or self.kept[target.id]
        function = getattr(where, name) if name else where
        value = self.called(function, *([self.module] if op == "scene" else []), *args, **kwargs)
        if keep is None:
            return value
        self.kept[keep.id] = value

    def take_printed(self) -> str:
        return ""


def plain(number: str, path: str) -> int:
    """The hidden tests under pytest alone; in a process of its own."""
    import pytest

    problem = problems.get(number)

    class Fixtures:
        @pytest.fixture(name="check")
        def check(self):
            return Check(InProcess(problem, Path(path)), lambda calls: "", lambda name: name, 60)

        @pytest.fixture(name="rng")
        def rng(self, request):
            return random.Random(f"1 {request.node.name}")

    sys.path.insert(0, str(problem.folder))
    options = ["-q", "-p", "no:cacheprovider", "--noconftest", "-c", os.devnull, f"--rootdir={problem.folder}"]
    return pytest.main([*options, str(problem.folder / "test_hidden.py")], plugins=[Fixtures()])


def timed(command: list[str]) -> tuple[float, str]:
    """Seconds that the command took, and what it printed."""
    started = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    seconds = time.perf_counter() - started
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}:\n{(done.stdout + done.stderr)[-3000:]}")
    return seconds, done.stdout


def compare(problem: problems.Problem, path: Path, rounds: int, sandbox: str | None) -> dict:
    layers = ["--sandbox", sandbox] if sandbox else []
    alone = [sys.executable, str(Path(__file__)), PLAIN, str(problem.id), str(path)]
    judged = [sys.executable, "-I", "-B", "-X", "utf8", str(JUDGE), str(problem.id), str(path), "--json", *layers]
    pairs = []
    for _ in range(rounds + 1):
        (a, _), (b, said) = timed(alone), timed(judged)
        pairs.append((a, b))
    del pairs[0]  # the first round fills the disk's cache
    report = json.loads(said.splitlines()[-1])
    return {
        "problem": problem.slug,
        "sandbox": report["sandbox"],
        "tensors_on": report["device"],
        "pytest_s": statistics.median(a for a, _ in pairs),
        "judge_s": statistics.median(b for _, b in pairs),
        "ratio": statistics.median(b / a for a, b in pairs),
    }


def watched(problem: problems.Problem, path: Path, rounds: int, sandbox: str | None) -> float:
    """Seconds from a save to its verdict in `watch`: the median, once its workers stand."""
    layers = ["--sandbox", sandbox] if sandbox else []
    command = [sys.executable, str(JUDGE), "watch", str(problem.id), str(path), *layers]
    source, took = path.read_text(encoding="utf-8"), []
    piped = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, **piped, text=True) as watch:
        try:
            for number in range(rounds + 2):
                started = time.perf_counter()
                if number:
                    path.write_text(f"{source}\n# saved {number} times\n", encoding="utf-8")
                if not any(line.startswith("Watching ") for line in watch.stdout):
                    raise SystemExit(f"{' '.join(command)} has ended")
                took.append(time.perf_counter() - started)
                time.sleep(0.3)  # nobody saves sooner; a save that comes during a judgement would stop it
        finally:
            watch.send_signal(signal.SIGINT)
            path.write_text(source, encoding="utf-8")
    return statistics.median(took[2:])


def main(argv: list[str] | None = None) -> None:
    argv = sys.argv[1:] if argv is None else argv
    if argv[:1] == [PLAIN]:
        raise SystemExit(plain(*argv[1:]))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("problems", nargs="*", default=["133", "132"], metavar="N", help="default: 133 132")
    parser.add_argument("--rounds", type=int, default=5, help="the ratio is the median of so many (default 5)")
    parser.add_argument("--sandbox", metavar="A,B", help="exactly these layers; default: the judge's own choice")
    import measure  # imports torch, which plain pytest must not do

    measure.add_keeping(parser)
    args = parser.parse_args(argv)
    if args.rounds < 1:
        parser.error("--rounds takes a number from 1")
    import tempfile

    rows = []
    print(f"{'problem':28} {'pytest alone':>12} {'judge':>8} {'ratio':>6} {'watch':>8}")
    with tempfile.TemporaryDirectory() as folder:
        for number in args.problems:
            problem = problems.get(number)
            path = Path(folder) / f"{problem.slug}.py"
            path.write_text(reference_source(problem), encoding="utf-8")
            rows.append(row := compare(problem, path, args.rounds, args.sandbox))
            row["watch_s"] = watched(problem, path, args.rounds, args.sandbox)
            seconds = f"{row['pytest_s']:10.2f} s {row['judge_s']:6.2f} s"
            print(f"{row['problem']:28} {seconds} {row['ratio']:6.2f} {row['watch_s']:6.2f} s", flush=True)
    device = "cuda" if any(row["tensors_on"] == "cuda" for row in rows) else "cpu"
    measure.finish({"bench": "judge", **measure.about_this_run(device), "rounds": args.rounds, "rows": rows}, args)


if __name__ == "__main__":
    main()
