"""`judge.py watch 133`: judges at every save.

Three processes. This one waits: for the watcher, for the judge, for a key. The watcher (`watcher.py`) says that the
file was saved. The judge is a fork of this one, with pytest imported, and keeps its workers from one judgement to the
next, so a verdict comes soon after the save. When the file is saved again before the verdict is there, that judgement
is of no use to anybody: it is stopped as Ctrl-C stops it, and a new judge is forked.
"""

from __future__ import annotations

import contextlib
import gc
import io
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from grader import learner, once, progress
from grader.layers import SandboxError
from grader.once import Asked
from grader.signals import STOPS, stopped_by
from grader.terminal import console, is_terminal
from grader.usage import (
    ACCEPTED,
    JUDGE_FAILED,
    NOT_ACCEPTED,
    STOPPED,
    USAGE,
    Parser,
    UsageError,
    chinese,
    one_line,
    read_file,
    spelled,
    typed,
)

LOOK = 1.0  # seconds between two looks at the file besides: not every file system tells of a change
LOOK_ALONE = 0.2  # the same without a watcher
ABSENT = 1.0  # seconds that a file may be away before it is called gone
GRACE = 5.0  # seconds that a stopped judge has to clean up


class Stop(BaseException):
    """A signal that ends the watch."""

    def __init__(self, number: int):
        self.number = number


def watch(argv: list[str], prog: str) -> int:
    parser = Parser(
        prog,
        "watch",
        "Judges your code for problem N (or FILE.py), and again at every save, with the first failure in short. In a "
        "terminal: Enter judges again, h and Enter shows the next hint, q and Enter ends. Ctrl-C ends too, with exit "
        "status 130; q ends with that of the last verdict.",
    )
    once.takes_options(parser)
    args = parser.parse_args(argv)
    what = once.asked(args, parser.problem_of(args))
    read_file(what.path)  # a name that is wrong is said at once
    with contextlib.ExitStack() as stack:
        watching = _Watch(what, prog)
        stack.callback(watching.close)
        stack.enter_context(stopped_by(_stop))
        try:
            return watching.run()
        except Stop as e:
            return 128 + e.number
        except KeyboardInterrupt:
            print("\nstopped watching", file=sys.stderr)
            return STOPPED
        finally:
            for number in (signal.SIGINT, *STOPS):  # what cleans up is not to be stopped half way
                stack.callback(signal.signal, number, signal.signal(number, signal.SIG_IGN))
            watching.close()


def _stop(number: int, _frame) -> None:
    raise Stop(number)


class _Watch:
    def __init__(self, what: Asked, prog: str):
        self.what, self.prog = what, prog
        self.clears = is_terminal()
        self.watcher: subprocess.Popen | None = None
        self.judge: _Judge | None = None
        self.folder: str | None = None  # for temporary files, so that nothing stays even of a judge that was killed
        self.seen: tuple | None = None
        self.absent_since: float | None = None
        self.last = NOT_ACCEPTED

    def run(self) -> int:
        from grader import report, runner  # noqa: F401  (imported once, for every judge that is forked)

        self.folder = tempfile.mkdtemp(prefix="mini-llm-watch-")
        os.chmod(self.folder, 0o755)  # as root the workers run as somebody else
        gc.freeze()
        self._start_watcher()
        while True:
            self._look()
            ended = self._wait()
            if ended is not None:
                return ended

    def close(self) -> None:
        if self.judge is not None:
            self.judge.stop()
            self.judge = None
        if self.watcher is not None:
            self.watcher.kill()
            self.watcher.communicate()
            self.watcher = None
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder = None

    # -- what happens -------------------------------------------------------------------------------------------

    def _look(self) -> None:
        """Judges the file when it is another than before."""
        now = _stamp(self.what.path)
        if now is not None:
            if now != self.seen:
                self.absent_since, self.seen = None, now
                self._ask()
        elif self.absent_since is None:
            self.absent_since, self.seen = time.monotonic(), None
        elif self.absent_since and time.monotonic() - self.absent_since > ABSENT:
            self.absent_since = 0.0  # said
            print(f"{self.what.shown} is not there any more; it is judged when it is back.", flush=True)

    def _ask(self) -> None:
        if self.judge is not None and self.judge.busy:
            self.judge.stop()
            self.judge = None
        if self.judge is None:
            watcher = [self.watcher.stdin, self.watcher.stdout] if self.watcher else []
            self.judge = _Judge(self.what, self.prog, self.folder, self.clears, watcher)
        if self.clears:
            print("judging ...", end="\r", flush=True)
        self.judge.ask()

    def _wait(self) -> int | None:
        """Until something happens or it is time to look; the exit status when that was the end."""
        ready: list = [self.watcher.stdout] if self.watcher else []
        ready += [self.judge.answers] if self.judge else []
        ready += [sys.stdin] if _reads_keys() else []
        seconds = 0.05 if self.absent_since else LOOK if self.watcher else LOOK_ALONE
        for source in select.select(ready, [], [], seconds)[0]:
            if self.watcher and source is self.watcher.stdout:
                if not os.read(source.fileno(), 4096):
                    self._lose_watcher()
            elif self.judge and source == self.judge.answers:
                if (answer := self.judge.hear()) is None:
                    continue
                if answer["dead"]:
                    self.judge.stop()
                    self.judge = None
                if self._show(answer):
                    return self.last
            elif self._key(os.read(sys.stdin.fileno(), 4096)):
                return self.last
        return None

    def _show(self, answer: dict) -> bool:
        """Prints what the judge said; whether it is of no use to go on."""
        self.last = answer["code"]
        if self.clears:
            print("\x1b[2J\x1b[H", end="")
        print(answer["text"], end="", flush=True)
        if answer["end"]:
            return True
        keys = ". Enter: again, h: hint, q: end." if _reads_keys() else ""
        print(f"\nWatching {self.what.shown}{keys}", flush=True)
        return False

    def _key(self, typed_: bytes) -> bool:
        """What a line typed in the terminal asks for; whether to end."""
        if not typed_:  # Ctrl-D
            return True
        word = typed_.decode("utf-8", "replace").strip().lower()
        if word in ("q", "quit"):
            return True
        if word in ("h", "hint"):
            which = learner.next_hint(self.what.problem)
            learner.keep_hint(self.what.problem, which)
            learner.print_hint(console(), self.what.problem, which, chinese())
        elif not word and not (self.judge and self.judge.busy):
            self._ask()
        return False

    # -- the watcher --------------------------------------------------------------------------------------------

    def _start_watcher(self) -> None:
        path = self.what.path.absolute()
        files = dict.fromkeys([str(path), str(path.resolve())])  # a link and the file it names
        program = str(Path(__file__).with_name("watcher.py"))
        self.watcher = subprocess.Popen(
            [sys.executable, "-I", "-B", "-X", "utf8", program, *files],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            process_group=0,  # Ctrl-C is for this process, which ends the others
        )

    def _lose_watcher(self) -> None:
        """Without a watcher (the package is missing, the folder is gone) a look now and then has to do."""
        self.watcher.communicate()
        self.watcher = None


def _reads_keys() -> bool:
    """Whether what is typed is for this process: in the background, reading from the terminal would stop it."""
    try:
        return sys.stdin.isatty() and os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
    except (AttributeError, OSError, ValueError):
        return False


def _stamp(path: Path) -> tuple | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


# -- the judge ----------------------------------------------------------------------------------------------------


class _Judge:
    """A forked process that judges when it is asked, and answers with one line of JSON: text, code, end."""

    def __init__(self, what: Asked, prog: str, folder: str, colours: bool, not_its: list):
        asked, self._questions = os.pipe()
        self.answers, answer = os.pipe()
        self._heard, self.busy = b"", False
        sys.stdout.flush()
        sys.stderr.flush()
        self._pid = os.fork()
        if self._pid == 0:
            code = JUDGE_FAILED
            try:
                os.setpgid(0, 0)
                for number in (signal.SIGINT, *STOPS):
                    signal.signal(number, signal.default_int_handler)
                for fd in (self._questions, self.answers, *(f.fileno() for f in not_its)):
                    os.close(fd)
                tempfile.tempdir = folder
                code = _serve(what, prog, colours, asked, answer)
            except KeyboardInterrupt:
                code = STOPPED
            finally:
                os._exit(code)
        os.close(asked)
        os.close(answer)

    def ask(self) -> None:
        self.busy = True
        with contextlib.suppress(OSError):  # it died: `hear` says so
            os.write(self._questions, f"{console().width}\n".encode())

    def hear(self) -> dict | None:
        """The answer when it is complete."""
        piece = os.read(self.answers, 65536)
        self._heard += piece
        if piece and not self._heard.endswith(b"\n"):
            return None
        answer = {"code": JUDGE_FAILED, "end": False, "dead": not piece}
        ended = {"text": "judge: the judge has ended by itself; the next save starts another.\n"}
        answer |= json.loads(self._heard) if piece else ended
        self._heard, self.busy = b"", False
        return answer

    def stop(self) -> None:
        """Ends it as Ctrl-C would, so that it leaves nothing behind."""
        for fd in (self._questions, self.answers):
            os.close(fd)
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGINT)
        deadline = time.monotonic() + GRACE
        while os.waitpid(self._pid, os.WNOHANG) == (0, 0):
            if time.monotonic() > deadline:
                os.kill(self._pid, signal.SIGKILL)
                os.waitpid(self._pid, 0)
                return
            time.sleep(0.005)


def _serve(what: Asked, prog: str, colours: bool, asked: int, answer: int) -> int:
    """Judges each time a width comes in, until no more can come."""
    from grader.runner import Workers

    with Workers(what.problem, what.sandbox) as workers, open(asked) as questions:
        for line in questions:
            text = io.StringIO()
            out = console(file=text, width=int(line), force_terminal=colours or None)
            code, end = _judge(what, prog, workers, out)
            said = json.dumps({"text": text.getvalue(), "code": code, "end": end}).encode() + b"\n"
            while said:
                said = said[os.write(answer, said) :]
    return ACCEPTED


def _judge(what: Asked, prog: str, workers, out) -> tuple[int, bool]:
    from grader.report import print_judgement

    end, code = False, JUDGE_FAILED
    try:
        judgement = once.judge(what, workers=workers)
        judgement.notes = [spelled(note, prog) for note in judgement.notes]
        print_judgement(out, judgement, what.words(prog), f"python {typed(prog)}", compact=True)
        if not judgement.accepted:
            return NOT_ACCEPTED, False
        following = progress.next_problem() if what.own and not (what.part or what.examples) else None
        if following is not None:
            out.print("Next:")
            out.print(f"  python {typed(prog)} watch {following}", soft_wrap=True)
        return ACCEPTED, False
    except UsageError as e:
        why, code = str(e), USAGE
    except SandboxError as e:
        why, end = str(e), True
    except Exception as e:
        why = f"the judge itself failed, which is not your code's fault: {type(e).__name__}: {e}"
    out.print(f"judge: {spelled(one_line(why, 2000), prog)}", soft_wrap=True)
    return code, end
