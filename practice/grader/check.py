"""`judge.py check`: the gate for problem authors.

For each problem and seed: the reference is accepted, the stub and answers that do nothing score 0, the examples
pass, and every mutant gets the verdict and the diagnosis that are written in it.
"""

from __future__ import annotations

import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from grader import stubs
from grader.diagnose import compose, mutants, reference_source
from grader.problems import ROOT, Problem
from grader.runner import Judgement, Workers, judge

IDLE = ("None", "0", "[]", "args[0]")  # what a do-nothing answer returns


def run(chosen: list[Problem], seeds: int, asked: tuple[str, ...] | None, console, jobs: int = 1, quick=False) -> bool:
    """Prints a line for each problem and one for each thing that does not hold; True when all hold. `quick`: without
    the mutants."""
    good = True
    for problem in chosen:
        mutants(problem.folder)  # a fault in a mutant's head is said before anything runs
    if jobs > 1 and len(chosen) > 1:
        return _side_by_side(chosen, seeds, asked, console, jobs, quick)
    for problem in chosen:
        if problem.lacks:
            console.print(f"{problem.slug}: skipped: {problem.lacks}")
            continue
        started = time.monotonic()
        faults: list[str] = []
        for round_ in range(seeds):
            faults += [f"seed {seed}: {why}" for seed, why in _check(problem, asked, quick)]
            if seeds > 1:
                console.print(f"{problem.slug}: round {round_ + 1} of {seeds}, {len(faults)} faults")
        count = 0 if quick else len(mutants(problem.folder))
        word = "good" if not faults else f"{len(faults)} faults"
        console.print(
            f"{problem.slug}: {word} (reference, stub, {len(IDLE)} idle answers, {count} mutants; "
            f"{time.monotonic() - started:.0f} s)"
        )
        for fault in faults:
            console.print(f"  {fault}")
        good = good and not faults
    return good


def _side_by_side(chosen: list[Problem], seeds: int, asked, console, jobs: int, quick: bool) -> bool:
    """Each problem in a process of its own, since pytest runs inside it; what it prints comes when it ends."""
    command = [sys.executable, str(ROOT / "practice" / "judge.py"), "check", "--jobs", "1", "--seeds", str(seeds)]
    command += ["--sandbox", ",".join(asked)] if asked else []
    command += ["--quick"] if quick else []

    def one(problem: Problem) -> bool:
        done = subprocess.run([*command, str(problem.id)], capture_output=True, text=True, stdin=subprocess.DEVNULL)
        console.print((done.stdout + done.stderr).rstrip())
        return done.returncode == 0

    with ThreadPoolExecutor(jobs) as pool:
        return all(list(pool.map(one, chosen)))


def _check(problem: Problem, asked, quick: bool) -> list[tuple[int, str]]:
    with Workers(problem, asked) as workers:
        workers.diagnosis.seconds = float("inf")  # a busy machine is no fault of a mutant
        return _check_with(problem, workers, quick)


def _check_with(problem: Problem, workers: Workers, quick: bool) -> list[tuple[int, str]]:
    faults: list[tuple[int, str]] = []

    def see(what: str, source: str, diagnoses: int = 1, **options) -> Judgement:
        return judge(problem, source.encode(), f"{what}.py", workers=workers, diagnoses=diagnoses, **options)

    reference = reference_source(problem)
    for examples in (False, True):
        result = see("reference", reference, examples=examples)
        if not result.accepted:
            faults.append((result.seed, f"the reference gets '{result.verdict}': {result.first_failure.message}"))
    stub = stubs.stub_module(reference, {name: problem.chapter for name in problem.names})
    idle = {f"idle answer {value}": _idle(problem, value) for value in IDLE}
    for what, source in {"stub": stub, **idle}.items():
        result = see(what, source, diagnoses=0)
        if result.accepted or result.passed:
            names = ", ".join(t.name for t in result.tests if t.outcome == "passed")
            faults.append((result.seed, f"the {what} passes {names}; it must score 0"))
    for mutant in () if quick else mutants(problem.folder).values():
        result = see(mutant.name, compose(problem, mutant), stop=True)
        first = result.first_failure
        if result.verdict not in mutant.verdict.split("|"):
            faults.append((result.seed, f"mutant {mutant.name} gets '{result.verdict}', not '{mutant.verdict}'"))
            continue
        names = {mutant.diagnosis}
        if result.device == "cuda" and mutant.also_on_gpu:
            names.add(mutants(problem.folder)[mutant.also_on_gpu].diagnosis)
        if first.diagnosis not in names:
            faults.append((result.seed, f"mutant {mutant.name} is diagnosed as {first.diagnosis!r} in {first.name}"))
    return faults


def _idle(problem: Problem, value: str) -> str:
    return "\n".join(f"def {name}(*args, **kwargs): return {value}" for name in problem.names)
