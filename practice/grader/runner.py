"""One judgement: pytest runs a problem's tests in this process, and the learner's file runs in a worker.

The verdict comes from pytest's own hooks and from the number of tests that the front matter expects. Nothing that
the learner's code prints, writes or raises can be one.
"""

from __future__ import annotations

import contextlib
import os
import random
import secrets
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

import pytest

from grader import confine
from grader.checks import STUB, Call, Check, Failed
from grader.diagnose import Diagnosis, called_parts
from grader.faults import Fault, NotRun
from grader.problems import Problem, ProblemError
from grader.session import Session
from grader.signals import undisturbed
from grader.solution import Solution

CALLS_OF_A_TEST = 2  # times the limit of one call: what all calls of a test may take together


class JudgeError(Exception):
    """The judge itself failed: never counted against the learner, and never a pass."""


@dataclass
class Result:
    """One test. `outcome` is 'passed', 'not run', or one of the contract's verdicts."""

    name: str
    part: str
    outcome: str = "not run"
    seconds: float = 0.0
    rule: str = ""  # the property that the test states, in words
    why: str = ""
    call: str = ""
    expected: str = ""
    got: str = ""
    share: str = ""
    diagnosis: str = ""
    trace: str = ""
    printed: str = ""
    missing: bool = False
    stub: bool = False

    @property
    def message(self) -> str:
        """All of it in plain text."""
        rows = [
            ("input", self.call),
            ("expected", self.expected),
            ("got", self.got),
            ("likely mistake", self.diagnosis),
        ]
        lines = [self.rule, self.why, *(f"{k}: {v}" for k, v in rows if v)]
        lines += [self.share, self.trace, f"your code printed:\n{self.printed}" if self.printed.strip() else ""]
        return "\n".join(line for line in lines if line) if self.outcome != "passed" else ""


@dataclass
class Judgement:
    """What came of judging one file against one problem."""

    problem: Problem
    shown: str
    seed: int
    examples: bool
    sandbox: list[str]
    device: str = "none"  # that the problem's tensors were on: cpu (the tape), cuda, or none
    verdict: str = ""
    seconds: float = 0.0
    tests: list[Result] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    only: str | None = None
    inputs: dict[str, Call] = field(default_factory=dict)  # test -> the plain call that it failed with, if it was one

    @property
    def passed(self) -> int:
        return sum(t.outcome == "passed" for t in self.tests)

    @property
    def accepted(self) -> bool:
        return self.verdict in ("accepted", "examples passed")

    @property
    def first_failure(self) -> Result | None:
        return next((t for t in self.tests if t.outcome != "passed"), None)

    def as_json(self) -> dict:
        """The contract's object, and what the notebook panel and the class reports show besides."""
        total = len(self.tests)
        parts: dict[str, dict] = {}
        for t in self.tests:
            part = parts.setdefault(t.part, {"passed": 0, "total": 0, "score": 0.0})
            part["total"] += 1
            part["passed"] += t.outcome == "passed"
            part["score"] = part["passed"] / part["total"]
        first = self.first_failure
        tests = []
        for t in self.tests:
            row = asdict(t)
            row["message"], row["seconds"] = t.message, round(t.seconds, 4)
            tests.append(row)
        return {
            "problem": self.problem.id,
            "title": self.problem.title,
            "file": self.shown,
            "verdict": self.verdict,
            "passed": self.passed,
            "total": total,
            "score": self.passed / total if total else 0.0,
            "seed": self.seed,
            "seconds": round(self.seconds, 3),
            "sandbox": self.sandbox,
            "device": self.device,
            "parts": parts,
            "diagnosis": (first.diagnosis or None) if first else None,
            "notes": self.notes,
            "tests": tests,
        }


def new_seed() -> int:
    return secrets.randbelow(1_000_000)


class Workers:
    """The two workers of a judgement, the learner's file's and the mutants', kept for the next one of the same
    problem: what `check` and `watch` save their time by. A child is fresh for each test all the same."""

    def __init__(self, problem: Problem, asked: tuple[str, ...] | None = None):
        self.problem, self.asked = problem, asked
        self.session: Session | None = None
        self.diagnosis = Diagnosis(problem, asked)

    def take(self, source: bytes, shown: str, package: str | None) -> Session:
        self.diagnosis.begin_anew()
        if self.session is not None and self.session.suits(source, package):
            self.session.replace(source, shown)
            return self.session
        self.close_session()
        self.session = Session(self.problem, source, shown, asked=self.asked, package=package)
        return self.session

    def close_session(self) -> None:
        if self.session is not None:
            self.session.close()
            self.session = None

    def close(self) -> None:
        with undisturbed():
            self.close_session()
            self.diagnosis.close()

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def judge(
    problem: Problem,
    source: bytes,
    shown: str,
    *,
    seed: int | None = None,
    examples: bool = False,
    part: str | None = None,
    asked: tuple[str, ...] | None = None,
    package: str | None = None,
    on_test: Callable[[str], None] | None = None,
    workers: Workers | None = None,
    diagnoses: int | None = None,
    stop: bool = False,
) -> Judgement:
    """Judges the bytes of a file.

    `asked` names the sandbox layers (None: the best that work). `package` is 'mini_llm' when the file is a module
    of the learner's package, so that its relative imports work. `on_test` hears each test's name as it starts.
    `workers` of the same problem and layers are used and left running; without them they are started and ended here.
    Of the failing tests the first `diagnoses` get a diagnosis, all of them without a number. `stop`: the tests behind
    the first one that fails are not run.
    Raises SandboxError when no worker can be started as asked, JudgeError when the judge itself fails.
    """
    seed = new_seed() if seed is None else seed
    started = time.perf_counter()
    with contextlib.ExitStack() as stack:
        workers = workers or stack.enter_context(Workers(problem, asked))
        session = workers.take(source, shown, package)
        judgement = Judgement(problem, shown, seed, examples, session.sandbox, session.device, only=part)
        plugin = _Plugin(judgement, session, workers.diagnosis, on_test, diagnoses, source.decode("utf-8", "replace"))
        _run_pytest(problem.folder / ("test_examples.py" if examples else "test_hidden.py"), plugin, stop)
    if not judgement.tests and examples and part:
        raise ProblemError(f"{part} of problem {problem.id} has no example of its own; judge it without --examples.")
    if not judgement.tests:
        raise JudgeError(f"{problem.slug}: no test ran.")
    expected = problem.parts[part].tests if part else problem.hidden_tests
    if not examples and len(judgement.tests) != expected:
        raise JudgeError(
            f"{problem.slug}: {expected} hidden tests were expected and {len(judgement.tests)} were found."
        )
    if session.without_gpu:
        judgement.notes.append(
            f"There is a GPU here that the sandbox cannot use ({session.without_gpu}): tensors were on the CPU."
        )
    first = judgement.first_failure
    judgement.verdict = first.outcome if first else "examples passed" if examples else "accepted"
    judgement.seconds = time.perf_counter() - started
    return judgement


def _run_pytest(tests: Path, plugin: _Plugin, stop: bool) -> None:
    for name in [n for n in os.environ if n.startswith(("PYTEST_", "PYTHON"))]:
        del os.environ[name]
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    confine.prctl(confine.DUMPABLE, 0)  # code under the same user cannot read this process's memory
    sys.path.insert(0, str(tests.parent))
    try:
        code = pytest.main(
            [
                "-p",
                "no:cacheprovider",
                "-p",
                "no:terminal",
                "-p",
                "no:faulthandler",
                "--capture=no",
                "--noconftest",
                "--assert=plain",
                "--import-mode=importlib",
                "-c",
                os.devnull,
                f"--rootdir={tests.parent}",
                f"--maxfail={int(stop)}",
                str(tests),
            ],
            plugins=[plugin],
        )
    finally:
        sys.path.remove(str(tests.parent))
        for name in ("oracle", tests.stem):  # the next problem judged by this process has its own
            sys.modules.pop(name, None)
    if plugin.stopped:
        raise KeyboardInterrupt
    if plugin.trouble:
        raise JudgeError(plugin.trouble)
    if code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED):
        raise JudgeError(f"{tests.parent.name}: pytest ended with {code!r}.")


class _Plugin:
    """Fixtures for the tests, and the record of what they did."""

    def __init__(
        self,
        judgement: Judgement,
        session: Session,
        diagnosis: Diagnosis,
        on_test: Callable[[str], None] | None,
        diagnoses: int | None,
        source: str,
    ):
        self.judgement, self.session, self.diagnosis, self.on_test = judgement, session, diagnosis, on_test
        self.source = source
        self.diagnoses = diagnoses  # how many failing tests get one; None: all
        self.trouble, self.stopped = "", False
        self._results: dict[str, Result] = {}

    @pytest.fixture(name="solution")
    def solution_fixture(self, request):
        solution = Solution(self.session)
        yield solution
        rest = solution.close()
        result = self._results[request.node.nodeid]
        result.printed = result.printed or rest

    @pytest.fixture(name="rng")
    def rng_fixture(self, request):
        return random.Random(f"{self.judgement.seed} {request.node.name}")

    @pytest.fixture(name="check")
    def check_fixture(self, solution, request):
        seconds = CALLS_OF_A_TEST * self.judgement.problem.limits.call_s
        failed = sum(t.outcome not in ("passed", "not run") for t in self.judgement.tests)
        wanted = self.diagnoses is None or failed < self.diagnoses
        part = self._results[request.node.nodeid].part

        def diagnose(calls: list[Call]) -> str:
            if not wanted:
                return ""
            broken = self._broken_below(part)
            if broken and calls[-1].fault is not None:  # that something was raised is little to know a mistake by
                return broken
            return self.diagnosis.of(calls, self._sound(), part) or broken

        return Check(solution, diagnose, self.diagnosis.known, seconds)

    def _sound(self) -> set[str]:
        """The parts of which every test has passed."""
        tests = self.judgement.tests
        return {t.part for t in tests} - {t.part for t in tests if t.outcome != "passed"}

    def _broken_below(self, part: str) -> str:
        """What to say of a failing part that calls another one of the problem's, which fails itself."""
        failed = dict.fromkeys(t.part for t in self.judgement.tests if t.outcome not in ("passed", "not run"))
        called = called_parts(self.source, part, failed) if set(failed) - {part} else set()
        first = next((name for name in failed if name in called), None)
        return f"{part} calls {first}, which fails its own tests: begin there" if first else ""

    def pytest_collection_modifyitems(self, items):
        problem, only = self.judgement.problem, self.judgement.only
        for item in list(items):
            try:
                part = problem.part_of(item.originalname)
            except ProblemError as e:
                self.trouble = str(e)
                continue
            if only and part != only:
                items.remove(item)
                continue
            doc = " ".join((item.function.__doc__ or "").split())
            result = Result(item.name.removeprefix("test_"), part, rule=doc)
            self._results[item.nodeid] = result
            self.judgement.tests.append(result)

    def pytest_collectreport(self, report):
        if report.failed:
            self.trouble = f"{self.judgement.problem.slug}: the tests cannot be loaded: {report.longreprtext}"

    def pytest_runtest_logstart(self, nodeid):
        if self.on_test and nodeid in self._results:
            self.on_test(self._results[nodeid].name)

    def pytest_keyboard_interrupt(self, excinfo):
        # pytest's own Interrupted, for tests that cannot be loaded, is a subclass: that is our fault, not Ctrl-C
        self.stopped = type(excinfo.value) is KeyboardInterrupt

    def pytest_runtest_makereport(self, item, call):
        result = self._results.get(item.nodeid)
        if result is None:
            return
        result.seconds += call.duration
        if call.excinfo is None:
            if call.when == "call":
                result.outcome = "passed"
            return
        error = call.excinfo.value
        if isinstance(error, KeyboardInterrupt):
            return
        if call.when == "call" and isinstance(error, Failed):
            result.outcome, result.why = error.verdict, error.why
            for field_name, text in error.shown.items():
                setattr(result, field_name, text)
            if error.input is not None:
                self.judgement.inputs[result.name] = error.input
        elif call.when == "call" and isinstance(error, NotRun):
            broken = self.session.broken
            result.outcome, result.why = _outcome(broken) if broken else "not run", str(error)
        elif call.when == "call" and isinstance(error, Fault):
            result.outcome, result.why, result.trace = _outcome(error), str(error), error.trace
            result.missing = error.kind == "missing"
        else:
            self.trouble = (
                f"{self.judgement.problem.slug}: {result.name} itself failed in {call.when}: "
                f"{type(error).__name__}: {error}"
            )
        result.stub = STUB in result.trace


def _outcome(fault: Fault) -> str:
    if fault.at_import and fault.verdict in ("error", "wrong answer"):
        return "import error"
    return fault.verdict
