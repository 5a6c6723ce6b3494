"""The learner's functions as a test sees them: calls that go to a child of the worker, held to the judge's clock."""

from __future__ import annotations

import functools
import os
import secrets
import select
import signal
import time
from typing import TYPE_CHECKING

from grader import wire
from grader.compare import difference, is_tensor
from grader.faults import ChangedArguments, Crashed, Fault, NotAnAnswer, NotRun, OutOfMemory, Raised, TookTooLong
from grader.layers import MOST_WRITTEN
from grader.wire import MOST_TEXT, MOST_TRACE, MOST_WARNINGS, Handle

if TYPE_CHECKING:
    from grader.session import Session

MAX_OUTPUT = 4096  # bytes of what a test's calls print that are kept
LOOK = 0.2  # seconds between two looks at a child that lets us wait
BUSY = 6  # times its limit that a call which computes may take on the clock of a busy machine
GIVE_UP_AFTER = 3  # timeouts, after which the remaining tests are not run


class Output:
    """What a child printed: the first few KiB since the last `take`, and how much there was."""

    def __init__(self, fd: int):
        self.fd, self.text, self.total = fd, b"", 0

    def drain(self) -> bool:
        try:
            piece = os.read(self.fd, 1 << 16)
        except BlockingIOError:  # the code read its own output back between our look and our read
            return True
        self.total += len(piece)
        self.text += piece[: max(0, MAX_OUTPUT - len(self.text))]
        return bool(piece)

    def take(self) -> str:
        """What has come since the last time, as text."""
        taken = 0
        while taken < 64 << 20 and select.select([self.fd], [], [], 0)[0]:
            before = self.total
            if not self.drain() or self.total == before:
                break
            taken += self.total - before
        text = self.text.decode("utf-8", "replace")
        more = self.total - len(self.text)
        self.text, self.total = b"", 0
        return text + (f"\n[... {more} more bytes ...]" if more > 0 else "")


class Solution:
    """The learner's functions, as a test sees them: `solution.pad_to(3, [1, 2, 4])`."""

    def __init__(self, session: Session):
        self._session = session
        self._child: dict | None = None
        self._output: Output | None = None
        self._printed = ""
        self._handles = 0
        self._waited = 0.0  # seconds that the judge has waited for this child
        self._spoilt = False  # CUDA is broken in this child: no later test may use it
        self.warned: list[str] = []  # the warnings of the last call
        self.reply_bytes = 0  # of the last answer

    def __getattr__(self, name: str):
        if name.startswith("_"):
            raise AttributeError(name)
        return functools.partial(self._call, name)

    def _call(self, name: str, *args: object, **kwargs: object) -> object:
        """One call in the child whose arguments must come back as they went; a Fault when no answer came."""
        sent = [list(args), kwargs]
        value, after = self._ask("call", None, name, sent, None, True)
        if not _well_formed(after) or not _same(after[0], sent):
            place = _first_changed(after, sent)
            which = (
                f"its {('first', 'second', 'third')[place]} argument"
                if 0 <= place < 3
                else "the arguments it was given"
            )
            raise ChangedArguments(f"{name} changed {which}; work on a copy", kind=str(place))
        return value

    def run(self, op: str, target: Handle | None, name: str, args: list, kwargs: dict, keep: Handle | None = None):
        """One step of a script: like a call, but the arguments may be changed and the result may stay there.

        `op` is 'call', 'scene' or 'method' (worker.py). With `keep`, None comes back and the handle stands for it.
        """
        return self._ask(op, target, name, [args, kwargs], keep, False)[0]

    def handle(self, name: str) -> Handle:
        """A new name for an object in the child."""
        self._handles += 1
        return Handle(self._handles, name)

    def _ask(self, op: str, target: Handle | None, name: str, sent: list, keep: Handle | None, echo: bool) -> tuple:
        """(value, extra) as the worker gave them; the child's first request imports the file."""
        if self._child is None:
            self._begin()
        what = f"{target.name}{'.' if name else ''}{name}()" if target else f"{name}()"
        limit = self._session.problem.limits.call_s
        value, after = self._exchange([op, target, name, *sent, keep, echo], limit, what)
        self.warned = [text[:MOST_TEXT] for text in after[1][:MOST_WARNINGS]] if _well_formed(after) else []
        return value, after

    def _begin(self) -> None:
        session = self._session
        if session.broken:
            raise NotRun("not run: the file could not be imported")
        if session.timeouts >= GIVE_UP_AFTER:
            raise NotRun(f"not run: {GIVE_UP_AFTER} tests have run out of time, or left too many files, already")
        self._child, self._channel, out = session.fork()
        self._waited = 0.0
        self._output = Output(out)
        try:
            request = ["import", None, "", [], {"shown": session.shown}, None, False]
            self._exchange(request, session.problem.limits.import_s, f"importing {session.shown}")
        except Fault as fault:
            fault.at_import = True
            session.broken = fault
            raise

    def _exchange(self, asked: list, limit: float, what: str) -> tuple:
        rid = secrets.token_hex(8)
        request = wire.frame([rid, *(wire.encode(x) for x in asked)])
        try:
            status, value, extra = self._receive(self._send(request, limit, what), rid, what)
        except (EOFError, ConnectionError):
            raise self._ended(what) from None
        if status == "ok":
            return value, extra
        if status == "missing":
            name = value if type(value) is str and value.isidentifier() else asked[2]
            raise Raised(f"{self._session.shown} defines no {name[:80]}", kind="missing")
        if status == "type":
            raise NotAnAnswer(
                f"{what} returned {value}; an answer is a plain int, float, str, list, tuple, dict or None"
                f"{', or a plain tensor' if self._session.problem.torch else ''}",
                kind=str(value),
            )
        if value == "out of memory":
            raise OutOfMemory(
                f"{what} asked for more than {self._session.problem.limits.memory_mib} MiB of memory", trace=str(extra)
            )
        # After a failed kernel every call to CUDA in that process fails, whosever it is.
        self._spoilt = self._spoilt or "CUDA error" in str(extra)
        raise Raised(f"{what} raised {value}", trace=str(extra), kind=str(value))

    def _send(self, request: bytes, limit: float, what: str) -> bytes:
        """Sends a request and reads the reply's bytes, by the judge's clock, draining the output meanwhile."""
        todo, got, need = memoryview(request), b"", None
        started = looked = time.monotonic()
        deadline = started + limit
        self._channel.setblocking(False)
        watched = [self._channel, self._output.fd]
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                if (more := self._owed(limit, started)) > 0:
                    deadline = time.monotonic() + more
                    continue
                self._session.timeouts += 1
                self._finish(0)
                raise TookTooLong(f"{what} did not finish in {limit:g} s")
            ready, free, _ = select.select(watched, [self._channel] if todo else [], [], min(left, LOOK))
            if time.monotonic() - looked >= LOOK:  # by the clock: code that prints gives no quiet moment
                self._watch(what)
                looked = time.monotonic()
            if self._output.fd in ready and not self._output.drain():
                watched.remove(self._output.fd)
            if free:
                todo = todo[self._channel.send(todo[: 1 << 20]) :]
            if self._channel not in ready:
                continue
            try:
                piece = self._channel.recv(1 << 20)
            except BlockingIOError:  # readable, and nothing to read: an urgent byte
                raise self._forged(what) from None
            if not piece:
                raise EOFError
            got += piece
            if need is None and len(got) >= wire.HEADER.size:
                need = wire.HEADER.size + wire.HEADER.unpack_from(got)[0]
            if need is not None and (need > self._session.max_reply + 1024 or len(got) > need):
                raise self._forged(what)
            if len(got) == need:
                self.reply_bytes = need
                self._waited += time.monotonic() - started
                return got[wire.HEADER.size :]

    def _watch(self, what: str) -> None:
        """Looks at what no limit of the system bounds: memory of a GPU's process or of many, files of many sizes."""
        memory = self._session.problem.limits.memory_mib
        resident, written = self._session.look(self._child)
        if resident > memory << 20:
            self._finish(0)
            raise OutOfMemory(f"{what} held more than {memory} MiB of memory")
        if written > MOST_WRITTEN:
            self._finish(0)
            raise Crashed(f"{what} wrote more than {MOST_WRITTEN >> 20} MiB or 50,000 files, and its process was ended")

    def _owed(self, limit: float, started: float) -> float:
        """Seconds still due to a call on a busy machine: a call that computes gets its limit in processor time, up to
        BUSY times the limit on the clock. One that waits gets nothing more."""
        spent = time.monotonic() - started
        cpu = self._session.cpu(self._child)
        share = cpu / (self._waited + spent) if cpu is not None else 0
        return min(limit / share, BUSY * limit) - spent if share > 0.1 else 0

    def _receive(self, reply: bytes, rid: str, what: str) -> tuple:
        try:
            got, status, value, extra = wire.decode(reply)
            if got != rid or status not in ("ok", "missing", "type", "exc"):
                raise ValueError("not an answer to this request")
            if status in ("type", "exc") and not (type(value) is str and len(value) < 1000):
                raise ValueError("a status without its text")
            if status == "exc" and not (type(extra) is str and len(extra) <= MOST_TRACE):
                raise ValueError("an exception without its text")
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

    def ran_out_of_time(self) -> None:
        """Counts a test whose calls took too long together as one that timed out."""
        self._session.timeouts += 1

    def take_printed(self) -> str:
        """What the code has printed since this was last asked."""
        printed, self._printed = self._printed, ""
        return printed + (self._output.take() if self._child is not None else "")

    def _finish(self, grace: float) -> dict:
        child, self._child = self._child, None
        end = self._session.reap(child, grace)
        self._channel.close()
        self._printed += self._output.take()
        os.close(self._output.fd)
        return end

    def close(self) -> str:
        """Ends the child; what it printed since `take_printed` was last asked."""
        usable = self._session.broken is None and not self._spoilt
        if self._child is not None and self._session.reuses and usable:
            child, self._child = self._child, None
            self._printed += self._output.take()
            self._session.keep(child, self._channel, self._output.fd)
        elif self._child is not None:
            self._finish(0)
        return self._printed


def _first_changed(after: object, sent: list) -> int:
    """Position of the first argument that a call changed, -1 when that cannot be told."""
    if not _well_formed(after):
        return -1
    now, before = after[0][0], sent[0]
    return next((i for i, (a, b) in enumerate(zip(now, before, strict=False)) if not _same(a, b)), -1)


def _well_formed(after: object) -> bool:
    """What comes back beside a value: [arguments and keywords or None, warnings]; None where they cannot cross."""
    return (
        isinstance(after, list)
        and len(after) == 2
        and (after[0] is None or (isinstance(after[0], list) and len(after[0]) == 2 and isinstance(after[0][0], list)))
        and isinstance(after[1], list)
        and all(type(text) is str for text in after[1])
    )


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
    if is_tensor(a):
        return difference(a, b) is None
    return a == b or (a != a and b != b)
