"""Many judgements at once: `judge_one` in processes of this machine, or mapped over a Dask cluster.

A task is a plain dict (`task`), and so is what comes of it: {"judgement": ...} as the judge's JSON has it, or
{"why": ...} when the judge itself failed, which counts neither for nor against the student.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import multiprocessing
import os
import re
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection, wait
from pathlib import Path

from grader import confine, problems
from grader.layers import SandboxError, strong
from grader.problems import Problem
from grader.session import Session
from grader.solution import BUSY

Done = Callable[[int, dict], None]  # hears a task's place in the list and what came of it, as it ends
HEADROOM_MIB = {False: 512, True: 1536}  # of one judgement beside what the submission may take: without torch, with
SOON = 5.0  # seconds that a judgement has to clean up when it is told to stop
LOCKS = Path(tempfile.gettempdir())  # read before a process of the pool takes a temporary folder of its own


def task(problem: Problem, source: bytes, shown: str, seed: int, package: bool) -> dict:
    """What `judge_one` needs, as plain values."""
    return {
        "problem": problem.id,
        "mark": mark(problem.id),
        "source": source,
        "shown": shown,
        "seed": seed,
        "package": "mini_llm" if package else None,
    }


@functools.cache
def mark(number: int) -> str:
    """A mark of what decides a verdict on a problem: its tests, oracle, scene and limits."""
    problem = problems.get(number)
    digest = hashlib.sha256(repr((problem.limits, {p: part.tests for p, part in problem.parts.items()})).encode())
    for path in sorted(problem.folder.glob("*.py")):
        data = path.read_bytes()
        digest.update(f"\0{path.name}\0{len(data)}\0".encode() + data)
    return digest.hexdigest()


@functools.cache
def strong_layers() -> tuple[str, ...]:
    """The layers that a class is judged in here. Raises SandboxError where no strong one works."""
    problem = min(problems.load_all().values(), key=lambda p: p.torch)  # torch takes seconds to import
    try:
        with Session(problem, b"", "nothing") as session:
            layers = tuple(session.sandbox)
        why = "only process limits work here"
    except SandboxError as e:
        layers, why = (), str(e).rstrip(".")
    if not strong(layers):
        raise SandboxError(
            f"a class is graded inside bubblewrap or Landlock only, and {why}: `judge.py doctor` says what to install."
        )
    return layers


_one_at_a_time = threading.Lock()  # pytest runs in this process: a cluster's threads take turns


def judge_one(task: dict) -> dict:
    """Judges one submission, in the strong layers of the machine that this runs on."""
    from grader import runner

    try:
        problem = problems.get(task["problem"])
        if mark(problem.id) != task["mark"]:
            raise runner.JudgeError(f"{problem.slug} is another version here: bring the course up to date")
        with _one_at_a_time, gpu_turn(problem):
            judgement = runner.judge(
                problem,
                task["source"],
                task["shown"],
                seed=task["seed"],
                asked=strong_layers(),
                package=task["package"],
            )
        return {"judgement": judgement.as_json()}
    except Exception as e:
        return {"why": f"{type(e).__name__}: {e}"}


# -- a GPU is one submission's at a time ----------------------------------------------------------------------------


def gpus() -> list[str]:
    """The NVIDIA GPUs that this process may use, as CUDA_VISIBLE_DEVICES names them."""
    there = sorted((m[1] for name in os.listdir("/dev") if (m := re.fullmatch(r"nvidia(\d+)", name))), key=int)
    wanted = os.environ.get("CUDA_VISIBLE_DEVICES")
    return there if wanted is None else [w for w in wanted.split(",") if w.strip()][: len(there)]


@contextlib.contextmanager
def gpu_turn(problem: Problem) -> Iterator[str | None]:
    """Holds a GPU while a problem that runs on one is judged, waiting until one is free; yields its name."""
    cards = gpus() if problem.torch else []
    if not cards:
        yield None
        return
    from filelock import FileLock, Timeout

    name = f"mini-llm-gpu-{os.getuid()}"  # a user's own: another's lock file could not be opened
    locks = {card: FileLock(LOCKS / f"{name}-{re.sub(r'[^0-9A-Za-z-]', '-', card)}.lock") for card in cards}
    held = None
    while held is None:
        for card, lock in locks.items():
            with contextlib.suppress(Timeout):
                lock.acquire(timeout=0)
                held = card
                break
        else:
            time.sleep(0.1)
    before = os.environ.get("CUDA_VISIBLE_DEVICES")
    os.environ["CUDA_VISIBLE_DEVICES"] = held
    try:
        yield held
    finally:
        os.environ.pop("CUDA_VISIBLE_DEVICES", None)
        if before is not None:
            os.environ["CUDA_VISIBLE_DEVICES"] = before
        locks[held].release()


# -- this machine -----------------------------------------------------------------------------------------------


def default_jobs(chosen: list[Problem]) -> int:
    """One for each core, and no more than memory has room for if all submissions take what they may."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    each = max((p.limits.memory_mib + HEADROOM_MIB[p.torch] for p in chosen), default=HEADROOM_MIB[False])
    return max(1, min(cores, _free_mib() // each))


def _free_mib() -> int:
    try:
        found = re.search(r"^MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text(), re.M)
    except OSError:
        found = None
    return int(found[1]) >> 10 if found else 4096


def patience(problem: Problem) -> float:
    """Seconds after which the judge itself must hang: every test at all its limits on a busy machine."""
    return 120 + BUSY * problem.hidden_tests * (problem.limits.import_s + 2 * problem.limits.call_s)


class _Process:
    """A process that judges one task after another."""

    def __init__(self, context, temporary: str):
        self.pipe, theirs = context.Pipe()
        self.place = -1  # of the task it has
        self.deadline = 0.0
        self.process = context.Process(target=_serve, args=(theirs, os.getpid(), temporary), daemon=True)
        self.process.start()
        theirs.close()

    def give(self, place: int, task: dict, seconds: float) -> None:
        self.place, self.deadline = place, time.monotonic() + seconds
        with contextlib.suppress(OSError):  # it ended already: its pipe will say so
            self.pipe.send(task)

    def outcome(self) -> dict:
        """What came of its task; call when its pipe is ready. Raises EOFError when the process has ended."""
        try:
            return self.pipe.recv()
        except OSError as e:  # it ended between two reads
            raise EOFError from e

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.pipe.close()


def run_here(tasks: list[dict], jobs: int, done: Done) -> None:
    """Judges the tasks in `jobs` processes. However it ends, no process and no file of theirs is left.

    A process that dies or hangs costs its own task only, which `done` hears as {"why": ...}.
    """
    context = multiprocessing.get_context("spawn")  # a fork would copy the threads that draw the progress
    temporary = tempfile.mkdtemp(prefix="mini-llm-grade-")
    os.chmod(temporary, 0o711)  # root's workers are another user, who passes through
    waiting, pool = deque(range(len(tasks))), []
    try:
        while waiting or any(p.place >= 0 for p in pool):
            while len(pool) < min(jobs, len(waiting) + sum(p.place >= 0 for p in pool)):
                pool.append(_Process(context, temporary))
            for process in pool:
                if process.place < 0 and waiting:
                    place = waiting.popleft()
                    problem = problems.get(tasks[place]["problem"])
                    turns = jobs if problem.torch else 1  # it may wait for a GPU
                    process.give(place, tasks[place], patience(problem) * turns)
            busy = {p.pipe: p for p in pool if p.place >= 0}
            soonest = min(p.deadline for p in busy.values()) - time.monotonic()
            for pipe in wait(list(busy), timeout=max(0.0, soonest)):
                process = busy[pipe]
                try:
                    outcome = process.outcome()
                except EOFError:
                    pool.remove(process)
                    process.end()
                    outcome = {"why": f"the judge's process ended with status {process.process.exitcode}"}
                place, process.place = process.place, -1
                done(place, outcome)
            for process in [p for p in pool if p.place >= 0 and time.monotonic() > p.deadline]:
                pool.remove(process)
                process.end()
                done(process.place, {"why": "the judge gave no verdict in all the time it could need"})
    finally:
        try:
            _stop(pool, done)
        finally:
            for process in pool:
                process.end()
            shutil.rmtree(temporary, ignore_errors=True)


def _stop(pool: list[_Process], done: Done) -> None:
    """Keeps what is finished, and gives every judgement the time to end its worker."""
    for process in pool:
        if process.place >= 0 and process.pipe.poll():
            with contextlib.suppress(EOFError):
                done(process.place, process.outcome())
    for process in pool:
        process.process.terminate()
    until = time.monotonic() + SOON
    for process in pool:
        process.process.join(max(0.0, until - time.monotonic()))


def _serve(pipe: Connection, parent: int, temporary: str) -> None:
    """The life of a process in the pool. It ends with its parent, and cleans up when told to stop."""
    signal.signal(signal.SIGINT, lambda *_: None)  # Ctrl-C reaches the whole terminal; the parent decides
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    confine.prctl(confine.PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        return
    tempfile.tempdir = temporary
    if not os.environ.get("MINI_LLM_JUDGE_DEBUG"):
        nothing = os.open(os.devnull, os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(nothing, fd)
        os.close(nothing)
    try:
        while True:
            pipe.send(judge_one(pipe.recv()))
    except (EOFError, OSError, KeyboardInterrupt):
        pass
    finally:
        with contextlib.suppress(OSError):
            os.rmdir(temporary)  # the last process out, if the parent could not


# -- a cluster --------------------------------------------------------------------------------------------------


class NoCluster(Exception):
    """There is no cluster to use; the message is one clear sentence."""


def run_on_cluster(address: str, tasks: list[dict], done: Done) -> None:
    """The same on Dask workers. They must see the course at the same path, and run in its environment."""
    try:
        from distributed import Client, as_completed
    except ImportError:
        raise NoCluster(
            "--scheduler needs Dask distributed, which is the optional extra `cluster` of pyproject.toml: "
            "`python course/kit/environment.py --extras course,dev,cluster` brings it."
        ) from None
    try:
        client = Client(address, timeout=10)
    except (OSError, ValueError) as e:
        raise NoCluster(f"there is no Dask scheduler at {address} ({str(e).splitlines()[0]}).") from None
    with client:
        futures = client.map(_by_value(str(Path(__file__).resolve().parents[1])), tasks, pure=False)
        places = {future.key: place for place, future in enumerate(futures)}
        try:
            for future in as_completed(futures):
                try:
                    outcome = future.result()
                except Exception as e:  # its worker died, or cannot load the course
                    outcome = {"why": f"{type(e).__name__}: {e}"}
                done(places[future.key], outcome)
        finally:
            client.cancel(futures)


def _by_value(practice: str):
    """`judge_one` as a function that Dask sends whole, so that nothing of ours need be on a worker's path."""

    def judge_there(task):
        if practice not in sys.path:
            sys.path.insert(0, practice)
        from grader.batch import judge_one

        return judge_one(task)

    return judge_there
