"""`judge.py watch`: a verdict at every save, and nothing left when it ends."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import time

import pytest
from judging import JUDGE, run, solution, with_default_signals

from grader.problems import ROOT

PATIENCE = 120  # seconds for what takes one
HANGS = "\n\ndef pad_to(bs, sizes):\n    while True: pass\n"
WRONG = "\n\ndef pad_to(bs, sizes):\n    return next((s for s in sizes if s > bs), None)\n"


class Watching:
    """`judge.py watch ARGUMENTS` in the background; in a terminal of its own with `terminal`."""

    def __init__(self, *arguments: object, terminal: bool = False, program: list[str] | None = None):
        command = program or [sys.executable, str(JUDGE)]
        command = [*command, "watch", *map(str, arguments)]
        self.text = ""
        if terminal:
            self.end, theirs = pty.openpty()
            env = os.environ | {"TERM": "xterm", "COLUMNS": "70"}
            self.process = subprocess.Popen(
                ["setsid", "--ctty", "--wait", *command], stdin=theirs, stdout=theirs, stderr=theirs, env=env
            )
        else:
            self.end, theirs = os.pipe()
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs, preexec_fn=with_default_signals
            )
        os.close(theirs)

    def until(self, pattern: str) -> str:
        """What is printed up to and with a match of `pattern`."""
        deadline = time.monotonic() + PATIENCE
        while not (match := re.search(pattern, self.text)):
            assert time.monotonic() < deadline, f"no {pattern!r} in {self.text!r}"
            if select.select([self.end], [], [], 0.1)[0]:
                piece = b""
                with contextlib.suppress(OSError):
                    piece = os.read(self.end, 65536)
                assert piece, f"ended without {pattern!r}: {self.text!r}"
                self.text += piece.decode().replace("\r\n", "\n")
        said, self.text = self.text[: match.end()], self.text[match.end() :]
        return said

    def stop(self, number: int = signal.SIGINT) -> int:
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.end)


@pytest.fixture
def watching(temporary):
    started: list[Watching] = []

    def start(*arguments: object, **options) -> Watching:
        started.append(Watching(*arguments, **options))
        return started[-1]

    yield start
    for one in started:
        one.close()


def left_over(temporary) -> list[str]:
    """Files, and processes that name the folder: the workers and the watcher do."""
    found = [p.name for p in temporary.iterdir()]
    for entry in filter(str.isdigit, os.listdir("/proc") if os.path.isdir("/proc") else []):
        with contextlib.suppress(OSError), open(f"/proc/{entry}/cmdline", "rb") as f:
            command = f.read().replace(b"\0", b" ").decode("utf-8", "replace")
            if str(temporary.parent) in command and ("worker.py" in command or "watcher.py" in command):
                found.append(command)
    return found


def soon_empty(temporary) -> bool:
    deadline = time.monotonic() + PATIENCE
    while left_over(temporary):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True


def test_a_verdict_at_every_save_however_the_editor_saves(workspace, watching):
    run("start", 133)
    file = workspace / "mini_llm" / "buckets.py"
    watch = watching(133)
    assert "not written yet" in watch.until("Watching .*\n")
    file.write_text(solution())
    assert "accepted  16 of 16" in watch.until("Watching")
    beside = file.with_name("buckets.py~")
    beside.write_text(solution() + WRONG)
    os.replace(beside, file)  # what many editors do
    said = watch.until("Watching")
    assert "wrong answer" in said and "likely mistake" in said and "hint" not in said and "\x1b" not in said
    file.unlink()
    watch.until("is not there any more; it is judged when it is back")
    file.write_text(solution())
    assert "accepted" in watch.until("Watching")
    assert watch.stop() == 130
    assert '"pad_to"' in (workspace / ".course" / "progress.json").read_text()


def test_a_save_during_a_judgement_is_judged_at_once_and_ctrl_c_leaves_nothing(submit, temporary, watching):
    file = submit()
    watch = watching(133, file)
    watch.until("accepted")
    file.write_text(solution() + HANGS)
    time.sleep(0.7)
    file.write_text(solution())
    said = watch.until("accepted")
    assert "timeout" not in said  # that verdict was never waited for
    file.write_text(solution() + HANGS)
    time.sleep(0.7)
    assert left_over(temporary)
    assert watch.stop() == 130 and soon_empty(temporary)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_other_ends_leave_nothing_either(submit, temporary, watching, number):
    watch = watching(133, submit())
    watch.until("accepted")
    assert watch.stop(number) == 128 + number and soon_empty(temporary)


def test_a_watch_that_is_killed_leaves_no_process(submit, temporary, watching):
    watch = watching(133, submit())
    watch.until("accepted")
    watch.stop(signal.SIGKILL)
    for folder in temporary.iterdir():  # nobody was there to take the folder away
        folder.rmdir() if not list(folder.iterdir()) else time.sleep(1)
    deadline = time.monotonic() + PATIENCE
    while any(".py" in what for what in left_over(temporary)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(".py" in what for what in left_over(temporary))


def test_part_examples_and_seed_are_honoured(submit, watching):
    watch = watching(133, submit(best_sizes="def best_sizes(*a): return 1"), "--part", "pad_to", "--seed", 7)
    said = watch.until("Watching")
    assert "accepted  4 of 4" in said and "seed 7" in said and "best_sizes" not in said
    assert "examples passed" in watching(133, submit(), "--examples").until("Watching")


def test_a_file_that_cannot_be_judged_is_said_and_watched_on(submit, watching):
    file = submit()
    watch = watching(133, file)
    watch.until("Watching")
    file.write_bytes(b"#" * (2 << 20))
    watch.until("judge: .*larger than 1 MiB")
    file.write_text(solution())
    watch.until("accepted")
    assert watching(133, file, "--sandbox", "chroot").process.wait(PATIENCE) == 2


def test_without_the_watcher_a_save_is_seen_all_the_same(submit, watching):
    script = (
        f"import sys; sys.dont_write_bytecode = True; sys.path.insert(0, {str(ROOT / 'practice')!r})\n"
        "from grader import cli, watch\nwatch.__file__ = '/nowhere/watch.py'\nsys.exit(cli.main(sys.argv[1:]))"
    )
    file = submit(WRONG)
    watch = watching(133, file, program=[sys.executable, "-I", "-c", script])
    watch.until("Watching")
    file.write_text(solution())
    assert "accepted" in watch.until("Watching") and watch.stop() == 130


@pytest.mark.skipif(shutil.which("setsid") is None, reason="setsid (util-linux) gives the watch a terminal")
def test_in_a_terminal_the_screen_is_cleared_and_keys_work(workspace, watching):
    run("start", 133)
    (workspace / "mini_llm" / "buckets.py").write_text(solution())
    watch = watching(133, terminal=True)
    said = watch.until("q: end")
    assert "\x1b[2J" in said and "accepted" in said and "watch " in said  # what comes next
    os.write(watch.end, b"h\n")
    watch.until("Hint 1 of")
    os.write(watch.end, b"\n")
    watch.until("accepted")
    watch.until("q: end")
    os.write(watch.end, b"q\n")
    assert watch.process.wait(PATIENCE) == 0
