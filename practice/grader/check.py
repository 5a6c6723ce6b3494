"""`judge.py check`: the gate for problem authors.

For each problem and seed: the reference is accepted, the stub and answers that do nothing score 0, the examples
pass, and every mutant gets the verdict and the diagnosis that are written in it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from grader import stubs
from grader.diagnose import compose, mutants, reference_source
from grader.problems import ROOT, Problem
from grader.runner import Judgement, Workers, judge
from grader.usage import ACCEPTED, NOT_ACCEPTED

WHOLE, BRIEF, QUICK = "whole", "brief", "quick"
IDLE = ("None", "0", "[]", "args[0]")  # what a do-nothing answer returns


@dataclass
class Found:
    """What came of a problem so far."""

    problem: Problem
    rounds: int = 0
    seconds: float = 0.0  # of all rounds together
    faults: list[dict] = field(default_factory=list)  # round, seed (None: the round itself broke off), why

    def add(self, round_: int, faults: list[dict], seconds: float) -> None:
        self.rounds += 1
        self.seconds += seconds
        self.faults += [fault | {"round": round_} for fault in faults]


def run(
    chosen: list[Problem], seeds: int, asked: tuple[str, ...] | None, console, jobs: int = 1, how: str = WHOLE
) -> list[Found]:
    """Prints a line for each round and each problem, and one for each thing that does not hold.

    `how` is WHOLE, BRIEF (a mutant of one part is tried with the tests of that part alone) or QUICK (without the
    mutants). With `jobs`, so many rounds run at once, each in a process of its own, since pytest runs inside it.
    """
    for problem in chosen:
        mutants(problem.folder)  # a fault in a mutant's head is said before anything runs
        if problem.lacks:
            console.print(f"{problem.slug}: skipped: {problem.lacks}")
    found = {problem.id: Found(problem) for problem in chosen if not problem.lacks}
    rounds = [(found[p], round_) for round_ in range(1, seeds + 1) for p in found]
    lock, alone = threading.Lock(), _Processes()

    def one(of: Found, round_: int) -> None:
        started = time.monotonic()
        faults = _alone(of.problem, asked, how, alone) if side_by_side else _check(of.problem, asked, how)
        if alone.stopped:
            return
        with lock:
            of.add(round_, faults, time.monotonic() - started)
            if seeds > 1:
                console.print(f"{of.problem.slug}: round {of.rounds} of {seeds}, {_faults(of)}")
                _print_faults(faults, console)
            if of.rounds == seeds:
                _print(of, how, console)
                _print_faults(faults if seeds == 1 else [], console)

    side_by_side = jobs > 1 and len(rounds) > 1
    with ThreadPoolExecutor(jobs) as pool:
        try:
            if side_by_side:
                list(pool.map(one, *zip(*rounds, strict=True)))
            else:
                for pair in rounds:
                    one(*pair)
        except BaseException:
            alone.stop()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return list(found.values())


def _faults(of: Found) -> str:
    return f"{len(of.faults)} fault{'s' * (len(of.faults) != 1)}"


def _print(of: Found, how: str, console) -> None:
    count = 0 if how == QUICK else len(mutants(of.problem.folder))
    console.print(
        f"{of.problem.slug}: {_faults(of) if of.faults else 'good'} (reference, stub, {len(IDLE)} idle answers, "
        f"{count} mutants; {of.seconds:.0f} s)"
    )


def _print_faults(faults: list[dict], console) -> None:
    for fault in faults:
        console.print(f"  {'' if fault['seed'] is None else 'seed ' + str(fault['seed']) + ': '}{fault['why']}")


def as_json(found: list[Found]) -> dict:
    """For --json."""
    rows = [
        {"problem": f.problem.id, "rounds": f.rounds, "seconds": round(f.seconds, 1), "faults": f.faults} for f in found
    ]
    return {"good": not any(f.faults for f in found), "problems": rows}


class _Processes:
    """Those that have a round each; with one word all of them end."""

    def __init__(self):
        self.stopped, self._running, self._lock = False, set(), threading.Lock()

    def run(self, command: list[str]) -> tuple[int, str, str]:
        """(exit status, output, errors) of a command; when it is all over, nothing is started any more."""
        with self._lock:
            if self.stopped:
                return 0, "", ""
            pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
            process = subprocess.Popen(command, **pipes, text=True)
            self._running.add(process)
        out, errors = process.communicate()
        with self._lock:
            self._running.remove(process)
        return process.returncode, out, errors

    def stop(self) -> None:
        with self._lock:
            self.stopped = True
            for process in self._running:
                process.terminate()


def _alone(problem: Problem, asked, how: str, processes: _Processes) -> list[dict]:
    """One round in a process of its own."""
    command = [sys.executable, str(ROOT / "practice" / "judge.py"), "check", "--json", "--jobs", "1"]
    command += ["--sandbox", ",".join(asked)] if asked else []
    command += [f"--{how}"] if how != WHOLE else []
    code, out, errors = processes.run([*command, str(problem.id)])
    if processes.stopped:
        return []
    if code not in (ACCEPTED, NOT_ACCEPTED):
        said = (errors or out).strip()
        return [{"seed": None, "why": said or f"its process ended with exit status {code}"}]
    (row,) = json.loads(out.splitlines()[-1])["problems"]
    return row["faults"]


def _check(problem: Problem, asked, how: str) -> list[dict]:
    with Workers(problem, asked) as workers:
        workers.diagnosis.seconds = float("inf")  # a busy machine is no fault of a mutant
        return _check_with(problem, workers, how)


def _check_with(problem: Problem, workers: Workers, how: str) -> list[dict]:
    faults: list[dict] = []

    def fault(result: Judgement, why: str) -> None:
        faults.append({"seed": result.seed, "why": why})

    def see(what: str, source: str, diagnoses: int = 1, **options) -> Judgement:
        return judge(problem, source.encode(), f"{what}.py", workers=workers, diagnoses=diagnoses, **options)

    reference = reference_source(problem)
    for examples in (False, True):
        result = see("reference", reference, examples=examples)
        if not result.accepted:
            fault(result, f"the reference gets '{result.verdict}': {result.first_failure.message}")
    stub = stubs.stub_module(reference, {name: problem.chapter for name in problem.names})
    idle = {f"idle answer {value}": _idle(problem, value) for value in IDLE}
    for what, source in {"stub": stub, **idle}.items():
        result = see(what, source, diagnoses=0)
        if result.accepted or result.passed:
            names = ", ".join(t.name for t in result.tests if t.outcome == "passed")
            fault(result, f"the {what} passes {names}; it must score 0")
    for mutant in () if how == QUICK else mutants(problem.folder).values():
        wrong = [name for name in mutant.defines if name in problem.parts]
        part = wrong[0] if how == BRIEF and len(wrong) == 1 else None
        result = see(mutant.name, compose(problem, mutant), stop=True, part=part)
        first = result.first_failure
        if result.verdict not in mutant.verdict.split("|"):
            fault(result, f"mutant {mutant.name} gets '{result.verdict}', not '{mutant.verdict}'")
            continue
        names = {mutant.diagnosis}
        if result.device == "cuda" and mutant.also_on_gpu:
            names.add(mutants(problem.folder)[mutant.also_on_gpu].diagnosis)
        if first.diagnosis not in names:
            fault(result, f"mutant {mutant.name} is diagnosed as {first.diagnosis!r} in {first.name}")
    return faults


def _idle(problem: Problem, value: str) -> str:
    return "\n".join(f"def {name}(*args, **kwargs): return {value}" for name in problem.names)
