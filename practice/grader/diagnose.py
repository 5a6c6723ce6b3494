"""Which known mistake is this?

The mutants of a problem are its typical wrong solutions; a learner who made the same mistake gives the same answers.
So the calls of a failing test are given to every mutant, in a worker of its own, and the one that answers them all
alike names the mistake.

A mutant holds only what is wrong: it is put behind the reference, so that a wrong `pad_to` is also what the right
`expected_waste` calls, as it would be in a learner's file. It starts with two comments: `# verdict: ...` (what `check`
must see) and `# diagnosis: ...` (the name of the mistake, one sentence that tells the learner what is wrong and not how
the solution goes). With `# on a GPU also: OTHER` it may be taken for the mutant OTHER there: what a graph reads before
anything was written is poison on the tape, and on a GPU whatever lay there.
"""

from __future__ import annotations

import functools
import re
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from grader.checks import NEEDLESS, NO_WARNING, Call, Refusal
from grader.compare import difference, is_tensor
from grader.faults import Fault, Raised
from grader.layers import SandboxError
from grader.problems import ROOT, Problem, ProblemError
from grader.session import Session
from grader.solution import Solution

SECONDS = 3.0  # to find the name of a mistake
SECONDS_WITH_TORCH = 8.0
CLOSE = 1e-12


@dataclass(frozen=True)
class Mutant:
    name: str
    path: Path
    verdict: str
    diagnosis: str
    also_on_gpu: str = ""  # the name of another mutant

    @functools.cached_property
    def defines(self) -> set[str]:
        """The functions and classes that it puts in the place of the reference's."""
        return set(re.findall(r"^(?:def|class) (\w+)", self.path.read_text(encoding="utf-8"), re.M))


@functools.cache
def mutants(problem_folder: Path) -> dict[str, Mutant]:
    """The mutants in `mutants/`, by name, in the order of their file names."""
    found = {}
    for path in sorted((problem_folder / "mutants").glob("*.py")):
        head = path.read_text(encoding="utf-8")
        fields = dict(re.findall(r"^# (verdict|diagnosis): (.+)$", head, re.M))
        if set(fields) != {"verdict", "diagnosis"}:
            raise ProblemError(
                f"{path.parent.parent.name}/mutants/{path.name} must start with the comments "
                "`# verdict: ...` and `# diagnosis: ...`."
            )
        other = re.search(r"^# on a GPU also: (\w+)$", head, re.M)
        if other and not path.with_name(f"{other[1]}.py").exists():
            raise ProblemError(f"{path.parent.parent.name}/mutants/{path.name} names {other[1]}, which is no mutant.")
        found[path.stem] = Mutant(path.stem, path, fields["verdict"], fields["diagnosis"], other[1] if other else "")
    return found


def reference_source(problem: Problem) -> str:
    return (ROOT / "mini_llm" / problem.module).read_text(encoding="utf-8")


def compose(problem: Problem, mutant: Mutant) -> str:
    """The reference with the mutant's definitions in place of its own."""
    return f"{reference_source(problem)}\n\n{mutant.path.read_text(encoding='utf-8')}"


def called_parts(source: str, part: str, parts: Iterable[str]) -> set[str]:
    """Which of the other `parts` the function or class `part` of a file calls, through others of the file, too.

    By the text alone: the file is not to be trusted, and parsing it could take the judge with it.
    """
    heads = list(re.finditer(r"^(?:async )?(?:def|class) (\w+)", source, re.M))
    ends = [*(head.start() for head in heads[1:]), len(source)]
    bodies = {head[1]: source[head.end() : end] for head, end in zip(heads, ends, strict=False)}
    seen, todo = {part}, [part]
    while todo:
        for name in re.findall(r"(?<![\w.])(\w+)\(", bodies.get(todo.pop(), "")):
            if name in bodies and name not in seen:
                seen.add(name)
                todo.append(name)
    return seen.intersection(parts) - {part}


class Diagnosis:
    """Starts its worker at the first question; close it at the end."""

    def __init__(self, problem: Problem, asked: tuple[str, ...] | None):
        self._problem, self._asked = problem, asked
        self._session: Session | None = None
        self._solution: Solution | None = None  # of the question that is being answered
        self.seconds = SECONDS_WITH_TORCH if problem.torch else SECONDS  # `check` gives it all the time it needs

    def known(self, name: str) -> str:
        """The diagnosis of the mutant with this name; any other text is a diagnosis itself."""
        found = mutants(self._problem.folder).get(name)
        return found.diagnosis if found else name

    def of(self, calls: list[Call], sound: Iterable[str] = (), part: str = "") -> str:
        """The name of the mistake that explains all these calls, or ''.

        A mutant explains them when it gives the same answers, wrong ones where the learner's are wrong. The calls go
        to it in the order in which the learner's code got them, since a mistake may be to remember. Where several
        mutants fit, one that is wrong in the function itself (the `part` that is tested, or what is called) comes
        before one that is wrong in what it calls, and one that is wrong in a `sound` part, whose own tests the
        learner's code passed, comes last.
        """
        tested = {part} | {c.name for c in calls if c.op in ("each", "call")}
        sound = set(sound)
        candidates = [m for m in mutants(self._problem.folder).values() if m.verdict != "timeout"]

        def order(mutant: Mutant) -> tuple[bool, bool]:
            wrong = mutant.defines.intersection(self._problem.parts)
            return bool(wrong) and wrong <= sound, not mutant.defines & tested

        candidates.sort(key=order)
        try:
            if self._session is None:
                self._session = Session(self._problem, _all_in_one(self._problem), "mutants", asked=self._asked)
            deadline = time.monotonic() + self.seconds
            for mutant in candidates:
                if time.monotonic() > deadline:
                    break
                if self._answers_alike(mutant, calls):
                    return mutant.diagnosis
        except (Fault, OSError, SandboxError):
            pass  # a diagnosis is a courtesy: without one the report stands as it is
        finally:
            if self._solution is not None:
                self._solution.close()
                self._solution = None
        return ""

    def _answers_alike(self, mutant: Mutant, calls: list[Call]) -> bool:
        if self._solution is None:
            self._solution = Solution(self._session)
        self._solution.run("call", None, "choose", [mutant.name], {})
        return all(_alike(self._solution, mutant, call) for call in calls)

    def begin_anew(self) -> None:
        """For another judgement: what went wrong with the mutants during the last one is forgotten."""
        if self._session is not None and self._session.broken is not None:
            self.close()
        elif self._session is not None:
            self._session.timeouts = 0

    def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            session.close()


def _all_in_one(problem: Problem) -> bytes:
    """One file that holds every mutant, so that asking them all costs one child."""
    sources = {m.name: m.path.read_text(encoding="utf-8") for m in mutants(problem.folder).values()}
    return f"""
import linecache, sys, types
REFERENCE = {reference_source(problem)!r}
MUTANTS = {sources!r}
OWN = set(globals()) | {{"OWN", "choose", "run"}}

def run(source, name, module):  # known to linecache: Triton reads the source of its kernels
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    exec(compile(source, name, "exec"), module)

def choose(name):  # from here on this module is that mutant, made anew
    for other in set(globals()) - OWN:
        del globals()[other]
    made = sys.modules["mutant"] = types.ModuleType("mutant")
    made.__file__ = __file__
    run(REFERENCE, "reference", made.__dict__)
    run(MUTANTS[name], name, made.__dict__)
    globals().update({{k: v for k, v in vars(made).items() if not k.startswith("__")}})
    sys.modules["__main__"].grow(globals(), {problem.home!r}, {list(problem.names)!r})
""".encode()


def _alike(solution: Solution, mutant: Mutant, call: Call) -> bool:
    """Whether the mutant does with this input what the learner's code did, right or wrong in the same way."""
    try:
        if call.op == "each":
            answer = getattr(solution, call.name)(*call.args, **call.kwargs)
        else:
            answer = solution.run(call.op, call.target, call.name, list(call.args), call.kwargs, call.keep)
    except Fault as fault:
        if call.fault is None or type(fault) is not type(call.fault):
            return False
        if isinstance(call.want, Refusal) and not call.want.alike(fault, call.fault):
            return False  # one of the two says what was wrong, the other does not
        if _own(fault.kind) == _own(call.fault.kind):
            return True
        # its mistake is to raise here; with which exception is a matter of style, unless the scene says what it saw
        scenes = "scene." in f"{fault.kind} {call.fault.kind}"
        return isinstance(fault, Raised) and mutant.verdict == "error" and not scenes
    if call.keep is not None:
        return call.fault is None
    if call.fault is not None or bool(solution.warned) != bool(call.warned):
        return False
    if call.accept is not None:
        return call.wrong(answer) == call.why  # of many right and wrong answers: what is said about them
    if call.why is not None and _right(answer, call):
        # right where the learner's is wrong, unless the warning is what is wrong with both
        missing = call.why.startswith(NO_WARNING) and _numbers(solution.warned) == _numbers(call.warned)
        return missing or call.why == NEEDLESS  # that both warn has been seen above
    if isinstance(answer, float) and answer != answer:
        return isinstance(call.answer, float) and call.answer != call.answer
    close = CLOSE if call.tolerance is not None else None
    if is_tensor(call.answer) and call.tolerance is not None:
        close = call.tolerance  # another order of the same sums
    return difference(call.answer, answer, close) is None


def _right(answer: object, call: Call) -> bool:
    return not isinstance(call.want, Refusal) and difference(answer, call.want, call.tolerance) is None


def _own(kind: str) -> str:
    """A fault's kind without the module that a type of the judged file has here: each file is loaded by its name."""
    return re.sub(r"\b(solution|mini_llm\._submission|mutant)\.", "", kind)


def _numbers(warnings: Iterable[str]) -> set[str]:
    return {number for text in warnings for number in re.findall(r"\d+", text)}
