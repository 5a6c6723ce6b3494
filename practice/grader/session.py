"""Judge side: a worker of our own, and what can come back from it.

A `Session` belongs to one judgement. It copies the learner's file and a package `mini_llm` without the functions
under test to a stage, starts the worker's parent there, and hands out one `Solution` for each test. A `Solution`
forks its child at the first call; every call goes over the wire and is held to its time by the judge's clock.
"""

from __future__ import annotations

import functools
import json
import os
import re
import secrets
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from grader import layers, stubs, wire
from grader.layers import SandboxError, Style
from grader.problems import ROOT, Problem

MAX_REPLY = 16 << 20
MAX_OUTPUT = 4096
GIVE_UP_AFTER = 3  # timeouts, after which the remaining tests are not run
PRELOAD = ("numpy",)  # imported once in the parent when the learner's file imports it, not once per test


class Fault(Exception):
    """Something other than an answer came back. `verdict` is its place in the contract's list."""

    verdict = "error"

    def __init__(self, message: str, trace: str = "", kind: str = ""):
        super().__init__(message)
        self.trace, self.kind, self.at_import = trace, kind, False


class Raised(Fault):
    """The learner's code raised `kind`; `trace` has its frames."""


class NotAnAnswer(Fault):
    """A value of a type that is no answer to any question of ours."""

    verdict = "wrong answer"


class ChangedArguments(Fault):
    verdict = "wrong answer"


class TookTooLong(Fault):
    verdict = "timeout"


class OutOfMemory(Fault):
    verdict = "memory"


class Crashed(Fault):
    """The process ended, was killed, or wrote into the judge's channel."""

    verdict = "crashed"


class NotRun(Fault):
    """The test was not run: the file cannot be imported, or too many tests ran out of time."""

    verdict = "not run"


class Output:
    """What a child printed: the first few KiB, and how much there was."""

    def __init__(self, fd: int):
        self.fd, self.text, self.total = fd, b"", 0

    def drain(self) -> bool:
        piece = os.read(self.fd, 1 << 16)
        self.total += len(piece)
        self.text += piece[: max(0, MAX_OUTPUT - len(self.text))]
        return bool(piece)

    def close(self) -> None:
        try:
            while select.select([self.fd], [], [], 0)[0] and self.drain():
                if self.total > 64 << 20:
                    break
        finally:
            os.close(self.fd)

    def __str__(self) -> str:
        text = self.text.decode("utf-8", "replace")
        more = self.total - len(self.text)
        return text + (f"\n[... {more} more bytes ...]" if more > 0 else "")


class Session:
    """One worker for one file. Use it as a context manager: it leaves no process and no file behind."""

    def __init__(
        self,
        problem: Problem,
        source: bytes,
        shown: str,
        *,
        asked: tuple[str, ...] | None = None,
        package: str | None = None,
    ):
        self.problem, self.shown, self.package = problem, shown, package
        self.broken: Fault | None = None  # the file cannot be imported: said once, then known
        self.timeouts = 0
        self._process: subprocess.Popen | None = None
        self._folder = Path(tempfile.mkdtemp(prefix="mini-llm-judge-"))
        try:
            self._fill_stage(source)
            self._start(layers.styles(asked))
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def sandbox(self) -> list[str]:
        return list(self.style.layers)

    # -- the stage ------------------------------------------------------------------------------------------

    def _fill_stage(self, source: bytes) -> None:
        """Everything the worker reads, under one folder of its own; nothing else of the course is shown to it."""
        self.stage, self.scratch = self._folder / "stage", self._folder / "scratch"
        self.stage.mkdir()
        self.scratch.mkdir()
        for name in ("worker.py", "confine.py", "wire.py"):
            shutil.copyfile(Path(__file__).with_name(name), self.stage / name)
        scene = self.problem.folder / "scene.py"
        if scene.exists():
            shutil.copyfile(scene, self.stage / "scene.py")
        hidden = {name: self.problem.chapter for name in self.problem.names}
        for path in sorted((ROOT / "mini_llm").rglob("*.py")):
            relative = path.relative_to(ROOT)
            target = self.stage / relative
            target.parent.mkdir(parents=True, exist_ok=True)
            if relative.as_posix() == f"mini_llm/{self.problem.module}":
                target.write_text(stubs.stub_module(path.read_text(encoding="utf-8"), hidden), encoding="utf-8")
            else:
                shutil.copyfile(path, target)
        (self.stage / "submission").mkdir()
        self.submission = self.stage / "submission" / "solution.py"
        self.submission.write_bytes(source)
        self.preload = [m for m in PRELOAD if re.search(rb"^\s*(?:import|from)\s+%s\b" % m.encode(), source, re.M)]

    def _config(self, style: Style) -> dict:
        limits = self.problem.limits
        memory = limits.memory_mib << 20
        rlimits = {
            "RLIMIT_AS": memory,
            "RLIMIT_DATA": memory,
            "RLIMIT_FSIZE": 16 << 20,
            "RLIMIT_CORE": 0,
            "RLIMIT_NOFILE": 256,
            "RLIMIT_CPU": 300,
        }
        if "bubblewrap" in style.layers or style.drop != "none":
            rlimits["RLIMIT_NPROC"] = 128  # counted for the whole user, so only where that user is ours alone
        return {
            "submission": str(self.submission),
            "shown": self.shown,
            "scratch": str(self.scratch),
            "package": self.package,
            "preload": self.preload,
            "max_reply": MAX_REPLY,
            "drop_uid": layers.NOBODY if style.drop in ("inside", "searching") else None,
            "keep_search": style.drop == "searching",
            "landlock": "landlock" in style.layers,
            "seccomp": "seccomp" in style.layers,
            "readable": layers.readable(self.stage),
            "rlimits": rlimits,
        }

    # -- the worker's parent --------------------------------------------------------------------------------

    def _start(self, styles: list[Style]) -> None:
        refused = []
        for style in styles:
            self.style = style
            try:
                return self._launch()
            except SandboxError as e:
                refused.append(str(e))
        raise SandboxError(refused[0])

    def _launch(self) -> None:
        style = self.style
        drops = {}
        if style.drop != "none":
            for folder in (self._folder, self.stage, self.scratch):
                folder.chmod(0o755)
            os.chown(self.scratch, layers.NOBODY, layers.NOBODY)
            if style.drop == "before":
                if (closed := layers.where_nobody_may_not_go()) is not None:
                    raise SandboxError(
                        "as root the judge drops to an unprivileged user, who may not enter "
                        f"{closed}, where Python is; judge as an ordinary user, or install "
                        "bubblewrap."
                    )
                drops = {"user": layers.NOBODY, "group": layers.NOBODY, "extra_groups": []}
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        command = [
            sys.executable,
            "-I",
            "-B",
            "-X",
            "utf8",
            str(self.stage / "worker.py"),
            str(theirs.fileno()),
            json.dumps(self._config(style)),
        ]
        if "bubblewrap" in style.layers:
            command = layers.bubblewrap_command(self.stage, self.scratch, style.drop) + command
        with theirs, tempfile.TemporaryFile() as errors:
            self._process = subprocess.Popen(
                command,
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=errors,
                stderr=errors,
                env=_environment(self.scratch),
                cwd="/",
                start_new_session=True,
                **drops,
            )
            theirs.close()
            self._control, self._pending = ours, b""
            try:
                self._hear(20)
            except Crashed:
                self._stop()
                errors.seek(0)
                said = errors.read(2000).decode("utf-8", "replace").strip().splitlines()
                raise SandboxError(
                    f"{' + '.join(style.layers[1:] or style.layers)} starts no worker here"
                    f" ({said[-1] if said else 'it said nothing'})."
                ) from None

    def _hear(self, seconds: float) -> bytes:
        """One line from the parent."""
        deadline = time.monotonic() + seconds
        while b"\n" not in self._pending:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._control], [], [], left)[0]:
                raise Crashed("the worker's parent does not answer")
            try:
                piece = self._control.recv(65536)
            except OSError:
                piece = b""
            if not piece or len(self._pending) > 65536:
                raise Crashed("the worker's parent is gone")
            self._pending += piece
        line, self._pending = self._pending.split(b"\n", 1)
        return line

    def _order(self, order: dict, fds: tuple[int, ...] = (), seconds: float = 5) -> dict:
        try:
            socket.send_fds(self._control, [json.dumps(order).encode()], fds)
            return json.loads(self._hear(seconds))
        except (OSError, ValueError):
            raise Crashed("the worker's parent is gone") from None

    def fork(self) -> tuple[dict, socket.socket, int]:
        """A fresh child: (its identity, our end of its channel, our end of its output)."""
        ours, theirs = socket.socketpair()
        out, theirs_out = os.pipe()
        try:
            if self._process is None:
                self._start([self.style])  # the learner's code ended the parent: start again for the next test
            return self._order({"op": "fork"}, (theirs.fileno(), theirs_out)), ours, out
        except BaseException:
            ours.close()
            os.close(out)
            self._stop()
            raise
        finally:
            theirs.close()
            os.close(theirs_out)

    def reap(self, child: dict, grace: float) -> dict:
        """Ends a child and all it left running; how it ended."""
        order = {"op": "reap", "pid": child["pid"], "scratch": child["scratch"], "grace": grace}
        try:
            return self._order(order, seconds=grace + 10)
        except Crashed:
            self._stop()
            return {"status": None, "strays": 0}

    def _stop(self) -> None:
        if self._process is None:
            return
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except OSError:
            pass
        self._process.wait()
        self._control.close()
        self._process = None

    def close(self) -> None:
        self._stop()
        shutil.rmtree(self._folder, ignore_errors=True)


def _environment(scratch: Path) -> dict[str, str]:
    """Nothing of the judge's environment but what numerical libraries need to work on this processor."""
    keep = {k: v for k, v in os.environ.items() if k.startswith("OPENBLAS_")}
    return keep | {
        "PATH": "/usr/bin:/bin",
        "HOME": str(scratch),
        "TMPDIR": str(scratch),
        "LANG": "C.UTF-8",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }


class Solution:
    """The learner's functions, as a test sees them: `solution.pad_to(3, [1, 2, 4])`."""

    def __init__(self, session: Session):
        self._session = session
        self._child: dict | None = None
        self._output: Output | None = None
        self._printed = ""
        self.warned: list[str] = []  # the warnings of the last call

    def __getattr__(self, name: str):
        if name.startswith("_"):
            raise AttributeError(name)
        return functools.partial(self._call, name)

    def _call(self, name: str, *args: object, **kwargs: object) -> object:
        """One call in the child, the child's first one importing the file; a Fault when no answer came."""
        if self._child is None:
            self._begin()
        sent = [list(args), kwargs]
        value, after = self._exchange("call", name, sent, self._session.problem.limits.call_s)
        self.warned = [str(text) for text in after[2]] if _well_formed(after) else []
        if not _well_formed(after) or not _same(after[:2], sent):
            raise ChangedArguments(f"{name} changed the arguments it was given; work on a copy")
        return value

    def _begin(self) -> None:
        session = self._session
        if session.broken:
            raise NotRun("not run: the file could not be imported")
        if session.timeouts >= GIVE_UP_AFTER:
            raise NotRun(f"not run: {GIVE_UP_AFTER} tests have run out of time already")
        self._child, self._channel, out = session.fork()
        self._output = Output(out)
        try:
            self._exchange("import", "", [[], {}], session.problem.limits.import_s)
        except Fault as fault:
            fault.at_import = True
            session.broken = fault
            raise

    def _exchange(self, op: str, name: str, sent: list, limit: float) -> tuple:
        what = f"{name}()" if op == "call" else f"importing {self._session.shown}"
        rid = secrets.token_hex(8)
        request = wire.frame([rid, op, name, *(wire.encode(x) for x in sent)])
        try:
            status, value, extra = self._receive(self._send(request, limit, what), rid, what)
        except (EOFError, ConnectionError):
            raise self._ended(what) from None
        if status == "ok":
            return value, extra
        if status == "missing":
            raise Raised(f"{self._session.shown} defines no function {name}", kind="missing")
        if status == "type":
            raise NotAnAnswer(
                f"{what} returned {value}; an answer is a plain int, float, str, list, tuple, dict or None",
                kind=str(value),
            )
        if value == "MemoryError":
            raise OutOfMemory(
                f"{what} asked for more than {self._session.problem.limits.memory_mib} MiB of memory", trace=str(extra)
            )
        raise Raised(f"{what} raised {value}", trace=str(extra), kind=str(value))

    def _send(self, request: bytes, limit: float, what: str) -> bytes:
        """Sends a request and reads the reply's bytes, by the judge's clock, draining the output meanwhile."""
        todo, got, need = memoryview(request), b"", None
        deadline = time.monotonic() + limit
        self._channel.setblocking(False)
        watched = [self._channel, self._output.fd]
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                self._session.timeouts += 1
                self._finish(0)
                raise TookTooLong(f"{what} did not finish in {limit:g} s")
            ready, free, _ = select.select(watched, [self._channel] if todo else [], [], left)
            if self._output.fd in ready and not self._output.drain():
                watched.remove(self._output.fd)
            if free:
                todo = todo[self._channel.send(todo[: 1 << 20]) :]
            if self._channel not in ready:
                continue
            piece = self._channel.recv(1 << 20)
            if not piece:
                raise EOFError
            got += piece
            if need is None and len(got) >= wire.HEADER.size:
                need = wire.HEADER.size + wire.HEADER.unpack_from(got)[0]
            if need is not None and (need > MAX_REPLY + 1024 or len(got) > need):
                raise self._forged(what)
            if len(got) == need:
                return got[wire.HEADER.size :]

    def _receive(self, reply: bytes, rid: str, what: str) -> tuple:
        try:
            got, status, value, extra = wire.decode(reply)
            if got != rid or status not in ("ok", "missing", "type", "exc"):
                raise ValueError("not an answer to this request")
            if status in ("type", "exc") and not (type(value) is str and len(value) < 1000):
                raise ValueError("a status without its text")
            return status, value, extra
        except (ValueError, TypeError):
            raise self._forged(what) from None

    def _forged(self, what: str) -> Crashed:
        self._finish(0)
        return Crashed(f"{what} wrote into the judge's channel")

    def _ended(self, what: str) -> Crashed:
        end = self._finish(0.3)
        status, strays = end["status"], end["strays"]
        if status is None:
            how = "the process stopped talking to the judge"
        elif os.WIFSIGNALED(status):
            how = f"the process was killed by {_signal_name(os.WTERMSIG(status))}"
        else:
            how = f"the process ended with exit code {os.WEXITSTATUS(status)}"
        left = f", leaving {strays} processes behind" if strays else ""
        return Crashed(f"{what}: {how}{left}")

    def _finish(self, grace: float) -> dict:
        child, self._child = self._child, None
        end = self._session.reap(child, grace)
        self._channel.close()
        self._output.close()
        self._printed += str(self._output)
        return end

    def close(self) -> str:
        """Ends the child; what it printed."""
        if self._child is not None:
            self._finish(0)
        return self._printed


def _well_formed(after: object) -> bool:
    """What comes back beside a value: [arguments, keywords, warnings]; None where they cannot cross any more."""
    return isinstance(after, list) and len(after) == 3 and isinstance(after[2], list)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _same(a: object, b: object) -> bool:
    """Equal, and of the same types all the way down (True is not 1)."""
    if type(a) is not type(b):
        return False
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(_same(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, dict):
        return len(a) == len(b) and all(_same(x, y) for x, y in zip(a.items(), b.items(), strict=True))
    return a == b or (a != a and b != b)
