"""The worker: a parent that is made ready once and forks a fresh child for each test.

Run by the judge as `python -I worker.py FD CONFIG`, from a stage: a folder that holds this file, the learner's
file and a package `mini_llm` without the functions under test. The parent never runs the learner's code. It
takes orders over FD: `fork` (two descriptors come along: the child's channel and its output), `cpu`, `look` and
`reap`.

The child speaks `wire`: it gets [id, op, target, name, arguments, keywords, keep, echo]. The op is
  import  run the learner's file; a reused child forgets what the test before left
  call    a function or class of the learner's file
  scene   a function of the problem's `scene.py`, which gets the learner's module before its arguments
  method  a method of the object with the handle `target`; a name of '' calls the object itself
`keep` is the handle under which the result stays here, or None. It answers [id, status, value, extra]:
  ok    value: the result, None when it was kept; extra: [arguments and keywords as they are after the call if `echo`
        asked for them, else None, and the warnings it gave]
  missing  value: the function that the file does not define (a scene may ask for it), or the method that is not there
  type  value: which kind of value cannot cross
  exc   value: the exception's type; extra: the learner's frames and the message
Nothing it says is trusted but a value for an input that the judge drew itself.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import socket
import struct
import sys
import time
import warnings

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import confine  # noqa: E402
import wire  # noqa: E402

sys.path.remove(HERE)
COURSE = [
    os.path.relpath(os.path.join(folder, name), HERE).replace(os.sep, ".").removesuffix(".py").removesuffix(".__init__")
    for folder, _, names in os.walk(os.path.join(HERE, "mini_llm"))
    for name in names
    if name.endswith(".py")
]
CACHES = ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR")
MAX_TRACE = 6000  # characters of a traceback that go to the judge


def cut(text: str, most: int = MAX_TRACE) -> str:
    """Shortens in the middle: the start says what, the end says where."""
    if len(text) <= most:
        return text
    return f"{text[: most // 2]}\n[... {len(text) - most} characters ...]\n{text[-most // 2 :]}"


def describe(error: BaseException, path: str, shown: str) -> str:
    """The learner's own frames and the message, as Python prints them; ours are left out."""
    import traceback

    try:
        if isinstance(error, SyntaxError):
            lines = traceback.format_exception_only(error)
        else:
            frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == path]
            lines = traceback.format_list(frames[-8:]) + traceback.format_exception_only(error)
        return cut("".join(cut(line, MAX_TRACE) for line in lines).replace(path, shown).strip())
    except BaseException:  # a __str__ that raises, or asks for too much memory
        return f"{name_of(error)} (its message could not be read)"


def plain(value: object, most: int = wire.MOST_TRACE) -> str:
    """A str that can cross whatever `value` does when it is turned into text."""
    try:
        return str(value)[:most].encode("utf-8", "backslashreplace").decode()
    except BaseException:
        return "(its text could not be read)"


def name_of(error: BaseException) -> str:
    """The name of its class, which a metaclass may refuse to give."""
    try:
        return plain(type.__dict__["__name__"].__get__(type(error)), 80)
    except BaseException:
        return "an exception without a name"


def grow(mine: dict, home: str, names: list[str]) -> None:
    """Puts the learner's functions in the place of the stubs of the module `home`, as in the workspace: what is in the
    package calls them."""
    # not from a walk through sys.modules: to touch 2,000 objects makes a child its own copy of their memory, 3 ms
    package = [m for m in map(sys.modules.get, COURSE) if m is not None and vars(m) is not mine]
    for name in names:
        stub = getattr(sys.modules.get(home), name, None)
        for module in package if stub is not None and name in mine else ():
            if vars(module).get(name) is stub:
                setattr(module, name, mine[name])


class Child:
    """Runs in the fork: reads requests until the judge hangs up."""

    def __init__(self, config: dict, fd: int, device: str, scene):
        self.config, self.fd, self.device, self.scene = config, fd, device, scene
        self.module, self.compiled, self.kept, self.shown = None, False, {}, ""

    def serve(self) -> None:
        while True:
            (size,) = struct.unpack("!I", self.read(4))
            request = wire.decode(self.read(size))
            reply = self.answer(*request)
            for stream in (sys.stdout, sys.stderr):
                try:
                    stream.flush()
                except BaseException:
                    pass
            self.write(reply)

    def answer(self, rid, op, target, name, args, kwargs, keep, echo) -> bytes:
        try:
            if op == "import":
                self.kept.clear()
                self.shown = kwargs["shown"]
                self.load()
                return wire.frame([rid, "ok", None, None])
            function = self.find(op, target, name)
            if function is None:
                return wire.frame([rid, "missing", name, None])
            if self.device == "cuda":
                args, kwargs = wire.on_device([args, kwargs], self.device)
            given = [args, kwargs] if echo else None
            args, kwargs = self.resolve([args, kwargs])
            if op == "scene":
                args = [self.module, *args]
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                value = function(*args, **kwargs)
            warned = [plain(w.message, wire.MOST_TEXT) for w in caught[: wire.MOST_WARNINGS]]
            for text in warned:
                print(f"warning: {text}", file=sys.stderr)
            if keep is not None:
                self.kept[keep.id], value = value, None
            try:
                value = wire.encode(value)
            except wire.NotPlain as e:
                return wire.frame([rid, "type", str(e)[:200], None])
            try:
                after = wire.encode([given, warned])
            except wire.NotPlain:
                after = None  # something that cannot cross was put into them: the judge sees that they changed
            reply = wire.frame([rid, "ok", value, after])
            if len(reply) > self.config["max_reply"]:
                return wire.frame([rid, "type", f"a value of {len(reply) / 2**20:.0f} MiB", None])
            return reply
        except BaseException as e:  # SystemExit and KeyboardInterrupt too: they are the learner's
            if op == "scene" and type(e) is AttributeError and e.obj is self.module:
                return wire.frame([rid, "missing", plain(e.name, 80), None])
            text = describe(e, self.config["submission"], self.shown)
            kind = "out of memory" if self.ran_out(e, op) else name_of(e)
            return wire.frame([rid, "exc", kind, plain(text)])

    def find(self, op: str, target, name: str):
        if op == "scene":
            return getattr(self.scene, name)
        if op == "method":
            found = self.kept[target.id]
            return getattr(found, name, None) if name else found
        return getattr(self.module, name, None)

    def resolve(self, value):
        """`value` with each handle replaced by the object it stands for; plain containers are kept as they are."""
        if type(value) is wire.Handle:
            return self.kept[value.id]
        if type(value) in (list, tuple):
            found = [self.resolve(v) for v in value]
            same = all(a is b for a, b in zip(found, value, strict=True))
            return value if same else type(value)(found)
        if type(value) is dict:
            found = {k: self.resolve(v) for k, v in value.items()}
            return value if all(found[k] is v for k, v in value.items()) else found
        return value

    def ran_out(self, error: BaseException, op: str) -> bool:
        """Whether an exception is about memory. Python's compiler raises a MemoryError for code nested too deeply,
        too; torch raises a RuntimeError on a CPU, and an error of its own on a GPU."""
        if issubclass(type(error), MemoryError):
            return op != "import" or self.compiled
        torch = sys.modules.get("torch")
        if torch is None or not issubclass(type(error), RuntimeError):
            return False
        return issubclass(type(error), torch.OutOfMemoryError) or "DefaultCPUAllocator: can't" in plain(error)

    def load(self) -> None:
        import importlib.util

        path, package = self.config["submission"], self.config["package"]
        if HERE not in sys.path:
            sys.path.insert(0, HERE)  # first: another `mini_llm` may be installed
        name = f"{package}._submission" if package else "solution"
        if package:
            __import__(package)  # so that `from .buckets import pad_to` works as it does in the workspace
        spec = importlib.util.spec_from_file_location(name, path)
        self.module = importlib.util.module_from_spec(spec)
        sys.modules[name] = self.module
        code = spec.loader.get_code(name)
        self.compiled = True
        exec(code, self.module.__dict__)
        grow(vars(self.module), *self.config["grows"])

    def read(self, n: int) -> bytes:
        data = b""
        while len(data) < n:
            piece = os.read(self.fd, min(n - len(data), 1 << 20))
            if not piece:
                os._exit(0)
            data += piece
        return data

    def write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(self.fd, view) :]


def become_child(config: dict, conn: int, out: int, scratch: str, device: str, scene) -> None:
    """Never returns."""
    code = 98
    try:
        null = os.open(os.devnull, os.O_RDONLY)
        for source, target in ((null, 0), (out, 1), (out, 2)):
            os.dup2(source, target)
        conn = os.dup2(conn, 3)
        os.closerange(4, 1024)
        os.chdir(scratch)
        for name in CACHES:  # torch may have named one while it was imported
            os.environ.pop(name, None)
        os.environ.update(HOME=scratch, TMPDIR=scratch, TRITON_HOME=scratch)
        if "tempfile" in sys.modules:
            sys.modules["tempfile"].tempdir = None  # what the parent found when somebody asked
        confine.settle(config, scratch)
        child = Child(config, conn, device, scene)
        code = 0  # what ends it from here on is between it and its channel
        child.serve()
    except BaseException as e:
        if code:
            os.write(2, f"the sandbox could not be set up: {type(e).__name__}: {e}\n".encode())
            code = 97
    finally:
        os._exit(code)


def cpu_seconds(pid: int) -> float | None:
    """Processor time of a child and of what it has waited for (proc(5), stat, fields 14 to 17)."""
    try:
        with open(f"/proc/{pid}/stat") as f:
            fields = f.read().rsplit(")", 1)[1].split()
        return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return None


def resident_bytes(pid: int, alone: bool) -> int:
    """Memory that a child holds, and `alone` in a process namespace also what it has started (proc(5), statm)."""
    pids = [pid]
    if alone:
        pids = [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) not in (1, os.getpid())]
    total = 0
    for one in pids:
        try:
            with open(f"/proc/{one}/statm") as f:
                total += int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        except (OSError, ValueError, IndexError):
            pass
    return total


def end(pid: int, grace: float) -> int | None:
    """Waits for a child, kills it when it takes too long; its wait status, or None when it had to be killed."""
    deadline = time.monotonic() + grace
    while time.monotonic() < deadline:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return status
        time.sleep(0.002)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return None


def end_strays(pgid: int) -> int:
    """Kills what a child left running: its session, and on Linux all that came back to us as subreaper."""
    found = 0
    try:
        os.killpg(pgid, signal.SIGKILL)
    except OSError:
        pass
    children = f"/proc/self/task/{os.getpid()}/children"
    for _ in range(200):
        try:
            with open(children) as f:
                pids = [int(p) for p in f.read().split()]
        except OSError:
            return found
        if not pids:
            return found
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
                found += 1
            except OSError:
                pass
    return found


def find_device(config: dict) -> tuple[str, str]:
    """(the device for tensors, why it is not the GPU that is there), found out in a child, under all its limits.

    CUDA that was started here could not be used after a fork; and to ask whether there is a GPU may start it.
    """
    import torch

    if not config["devices"] or not torch.backends.cuda.is_built():
        return "cpu", ""
    scratch = os.path.join(config["scratch"], f"{os.getpid()}.device")
    os.mkdir(scratch, 0o700)
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        said = ["cpu", "PyTorch finds none"]
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # torch warns; the reason is ours to give
            os.environ.update(HOME=scratch, TMPDIR=scratch)
            confine.settle(config, scratch)
            if torch.cuda.is_available():
                torch.ones(2, device="cuda").sum().item()
                said = ["cuda", ""]
        except BaseException as e:
            said = ["cpu", cut(plain(e).strip().split("\n")[0], 300)]
        os.write(write, json.dumps(said).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        said = pipe.read(4000)
    os.waitpid(pid, 0)
    confine.empty(scratch, 5)
    os.rmdir(scratch)
    return tuple(json.loads(said)) if said else ("cpu", "CUDA ended the process that asked for it")


def prepare(config: dict) -> tuple[str, str, object]:
    """(the device for tensors, why it is not a GPU, the problem's scene or None): made once, here, for all children.

    Nothing here may start CUDA: a process that is forked afterwards could not use it.
    """
    device, why = "none", ""
    if config["torch"]:
        import torch

        device, why = find_device(config)
        if device != "cuda":
            config["devices"] = []  # and no rule is loosened for CUDA
        torch.set_num_threads(1)
        wire.carry_tensors()
    if config["triton"] and (device != "cuda" or config["seccomp"] == "whole"):
        # Triton looks when a kernel is defined. Its compiler starts programs, which seccomp refuses.
        os.environ["TRITON_INTERPRET"] = "1"
    scene = None
    if config["torch"]:
        ask, torch.cuda.is_available = torch.cuda.is_available, lambda: device == "cuda"
    sys.path.insert(0, HERE)  # first: another `mini_llm` may be installed
    if config["scene"]:
        import scene
    for name in config["modules"]:
        try:
            __import__(name)
        except ImportError:
            pass  # a package is missing that it needs: the learner's file will say so itself
    sys.path.remove(HERE)
    if config["torch"]:
        torch.cuda.is_available = ask
    return device, why, scene


def main() -> None:
    control = socket.socket(fileno=int(sys.argv[1]))
    config = json.loads(sys.argv[2])
    if config["drop_uid"] is not None:
        confine.drop_to(config["drop_uid"], config["keep_search"])
    confine.prctl(confine.PDEATHSIG, signal.SIGKILL)
    confine.prctl(confine.CHILD_SUBREAPER, 1)
    confine.prctl(confine.DUMPABLE, 0)  # a child cannot read this process's memory
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the judge, which then ends us
    if config["landlock"]:
        import landlockpy  # noqa: F401
    if config["seccomp"]:
        import pyseccomp  # noqa: F401
    for name in config["preload"]:
        try:
            __import__(name)
        except ImportError:
            pass  # the learner's file will say so itself
    import importlib.util  # noqa: F401  the child needs these: import them once, here
    import linecache  # noqa: F401
    import traceback  # noqa: F401

    if config["seccomp"] == "shared":  # once, here: to make a filter anew takes each child 15 ms
        confine.seccomp(bool(config["devices"]), whole=False)
    device, why, scene = prepare(config)
    gc.collect()
    gc.freeze()
    control.sendall(json.dumps([device, why]).encode() + b"\n")
    while True:
        message, fds, _, _ = socket.recv_fds(control, 4096, 2)
        if not message:
            os._exit(0)
        order = json.loads(message)
        if order["op"] == "fork":
            scratch = os.path.join(config["scratch"], os.urandom(8).hex())  # says nothing of which test this is
            os.mkdir(scratch, 0o700)
            pid = os.fork()
            if pid == 0:
                signal.signal(signal.SIGINT, signal.SIG_DFL)
                become_child(config, fds[0], fds[1], scratch, device, scene)
            for fd in fds:
                os.close(fd)
            answer = {"pid": pid, "scratch": scratch}
        elif order["op"] == "cpu":
            answer = {"cpu": cpu_seconds(order["pid"])}
        elif order["op"] == "look":
            written = confine.size_of(config["scratch"], order["most"])
            answer = {"resident": resident_bytes(order["pid"], config["alone"]), "written": written}
        else:
            status = end(order["pid"], order["grace"])
            answer = {"status": status, "strays": end_strays(order["pid"])}
            try:
                answer["emptied"] = confine.empty(config["scratch"], 5)
            except OSError:
                answer["emptied"] = False
        control.sendall(json.dumps(answer).encode() + b"\n")


if __name__ == "__main__":
    main()
