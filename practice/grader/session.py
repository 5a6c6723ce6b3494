"""Judge side: the stage, the worker's parent, and the children it forks.

A `Session` copies the learner's file and a package `mini_llm` without the functions under test to a stage, and starts
the worker's parent there. `check` and `watch` keep one from judgement to judgement. Each test has a `Solution`
(solution.py) that takes a child from it at the first call.
"""

from __future__ import annotations

import json
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from grader import confine, layers, stubs, wire
from grader.faults import Crashed, Fault
from grader.layers import MOST_WRITTEN, SandboxError, Style
from grader.problems import ROOT, Problem
from grader.signals import undisturbed

# Imported once in the parent when the file does so at its top, not once per test; and, for tensors, what
# it names of mini_llm, which imports torch in turn.
PRELOAD = ("numpy", "torch")
OF_THE_COURSE = re.compile(rb"^(?:from|import)\s+(?:mini_llm)?\.([a-z_]\w*)(?:\s+import\b|\s*$)", re.M)


class Session:
    """One worker, for one file at a time. Use it as a context manager: it leaves no process and no file behind."""

    def __init__(
        self,
        problem: Problem,
        source: bytes,
        shown: str,
        *,
        asked: tuple[str, ...] | None = None,
        package: str | None = None,
    ):
        if problem.lacks:
            raise SandboxError(f"{problem.lacks}.")
        self.problem, self.shown, self.package = problem, shown, package
        self.max_reply = problem.limits.reply_mib << 20
        self.broken: Fault | None = None  # the file cannot be imported: said once, then known
        self.timeouts = 0
        self.device = "none"  # that tensors live on, once the worker has said so
        self.without_gpu = ""  # why there is a GPU, and tensors do not live on it
        self._process: subprocess.Popen | None = None
        self._kept: tuple[dict, socket.socket, int] | None = None
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

    @property
    def reuses(self) -> bool:
        """Whether one child serves all tests: on a GPU, where each child would start CUDA anew."""
        return self.device == "cuda"

    def replace(self, source: bytes, shown: str) -> None:
        """Another file in the same worker. For `check` and `watch`: nothing of the file before is left in it."""
        self.give_up_kept()
        self.submission.write_bytes(source)
        self.shown, self.broken, self.timeouts = shown, None, 0

    # -- the stage ------------------------------------------------------------------------------------------

    def _fill_stage(self, source: bytes) -> None:
        """Everything the worker reads, under one folder of its own; nothing else of the course is shown to it."""
        self.stage, self.scratch = self._folder / "stage", self._folder / "scratch"
        self.stage.mkdir()
        self.scratch.mkdir()
        for name in ("worker.py", "confine.py", "wire.py", "pools.py"):
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
        self.preload, self.modules = self._imports(source)

    def _imports(self, source: bytes) -> tuple[list[str], list[str]]:
        """What the worker imports once for all its children, because this file asks for it."""
        named = dict.fromkeys(name.decode() for name in OF_THE_COURSE.findall(source)) if self.problem.torch else ()
        modules = [f"mini_llm.{name}" for name in named if (self.stage / "mini_llm" / f"{name}.py").exists()]
        return [m for m in PRELOAD if re.search(rb"^(?:import|from)\s+%s\b" % m.encode(), source, re.M)], modules

    def suits(self, source: bytes, package: str | None) -> bool:
        """Whether `replace` can bring this file in: the worker has imported what it asks for."""
        return self.package == package and self._imports(source) == (self.preload, self.modules)

    def _config(self, style: Style) -> dict:
        limits = self.problem.limits
        memory = limits.memory_mib << 20
        rlimits = {
            "RLIMIT_DATA": memory,
            "RLIMIT_FSIZE": 16 << 20,
            "RLIMIT_CORE": 0,
            "RLIMIT_NOFILE": 256,
            "RLIMIT_CPU": 300,
        }
        cuda = (self.problem.torch or "torch" in self.preload) and layers.gpu_devices()
        if not cuda:
            rlimits["RLIMIT_AS"] = memory  # CUDA reserves far more addresses than it uses; there a watchdog looks
        if "bubblewrap" in style.layers or style.drop != "none":
            # Counted for the whole user, so only where that user is ours alone. A process with CUDA has dozens of
            # threads, and with several at work 256 were too few: it then says "OS call failed".
            rlimits["RLIMIT_NPROC"] = 4096 if cuda else 256
        return {
            "submission": str(self.submission),
            "scratch": str(self.scratch),
            "package": self.package,
            "grows": [self.problem.home, self.problem.names],
            "preload": self.preload,
            "modules": self.modules,
            "max_reply": self.max_reply,
            "alone": "bubblewrap" in style.layers,
            "torch": self.problem.torch,
            "triton": "triton" in self.problem.needs,
            "scene": (self.stage / "scene.py").exists(),
            "drop_uid": layers.NOBODY if style.drop in ("inside", "searching") else None,
            "keep_search": style.drop == "searching",
            "landlock": "landlock" in style.layers,
            "seccomp": layers.filter_of(style.layers),
            "devices": layers.gpu_devices() if self.problem.torch else [],
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
            try:
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
            except OSError as e:
                ours.close()
                raise SandboxError(f"{_strong(style)} starts no worker here ({command[0]}: {e.strerror}).") from None
            theirs.close()
            self._control, self._pending = ours, b""
            if self.problem.torch:
                wire.carry_tensors()  # imports torch here while the worker imports it there
            try:
                self.device, self.without_gpu = json.loads(self._hear(60))
            except Crashed:
                self._stop()
                errors.seek(0)
                said = errors.read(2000).decode("utf-8", "replace").strip().splitlines()
                why = said[-1] if said else "it said nothing"
                raise SandboxError(f"{_strong(style)} starts no worker here ({why}).") from None

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
        """A fresh child, or the one kept: (its identity, our end of its channel, our end of its output)."""
        if self._kept is not None:
            kept, self._kept = self._kept, None
            return kept
        ours, theirs = socket.socketpair()
        out, theirs_out = os.pipe()
        os.set_blocking(out, False)  # a child may open the pipe and take back what a look has promised us
        try:
            if self._process is None:  # the learner's code ended the parent: start again for the next test
                confine.empty(str(self.scratch), 60)
                self._start([self.style])
            return self._order({"op": "fork"}, (theirs.fileno(), theirs_out)), ours, out
        except BaseException:
            ours.close()
            os.close(out)
            self._stop()
            raise
        finally:
            theirs.close()
            os.close(theirs_out)

    def keep(self, child: dict, channel: socket.socket, out: int) -> None:
        """Takes back a child that answered everything, for the next test. Only where `reuses`."""
        self._kept = (child, channel, out)

    def give_up_kept(self) -> None:
        if self._kept is not None:
            (child, channel, out), self._kept = self._kept, None
            channel.close()
            os.close(out)
            self.reap(child, 0)

    def reap(self, child: dict, grace: float) -> dict:
        """Ends a child and all it left running; how it ended."""
        order = {"op": "reap", "pid": child["pid"], "scratch": child["scratch"], "grace": grace}
        try:
            ended = self._order(order, seconds=grace + 10)
            if not ended["emptied"]:
                self._stop()  # what it left is not for the next test to find: that one gets a new parent
                self.timeouts += 1  # to clear away after it takes as long as a call that does not end
            return ended
        except Crashed:  # the learner's code stopped or ended the parent
            self._stop()
            self.timeouts += 1
            return {"status": None, "strays": 0}

    def cpu(self, child: dict) -> float | None:
        """Processor seconds that a child has used, as its parent reads them; None where that cannot be known."""
        try:
            return self._order({"op": "cpu", "pid": child["pid"]})["cpu"]
        except Crashed:
            self._stop()
            return None

    def look(self, child: dict) -> tuple[int, int]:
        """Bytes of memory that a child holds with what it has started, and bytes that are in the scratch folder."""
        try:
            found = self._order({"op": "look", "pid": child["pid"], "most": MOST_WRITTEN})
            return found["resident"], found["written"]
        except Crashed:
            self._stop()
            return 0, 0

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
        with undisturbed():
            if self._kept is not None:
                _, channel, out = self._kept
                self._kept = None
                channel.close()
                os.close(out)
            self._stop()
            try:
                confine.empty(str(self._folder), 60)
                self._folder.rmdir()
            except FileNotFoundError:
                pass
            except OSError as e:
                raise SandboxError(f"the judge's folder {self._folder} could not be removed: {e.strerror}.") from None


def _strong(style: Style) -> str:
    """The layers of a style that are not on anyway."""
    return " + ".join(style.layers[1:] or style.layers)


def _environment(scratch: Path) -> dict[str, str]:
    """Nothing of the judge's environment but what numerical libraries need to work on this processor, and which GPU."""
    keep = {k: v for k, v in os.environ.items() if k.startswith("OPENBLAS_") or k == "CUDA_VISIBLE_DEVICES"}
    return keep | {
        "PATH": "/usr/bin:/bin",
        "HOME": str(scratch),
        "TMPDIR": str(scratch),
        "LANG": "C.UTF-8",
        "USER": "learner",  # torch names its folders after the user, whom the sandbox does not know
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "KINETO_LOG_LEVEL": "99",  # torch 2.13's profiler writes to stderr, which would look like the learner's output
    }
