"""Which layers stand around a worker, and the command that starts one inside them.

`process` is always on: an own session, limits, no tracing. Then one strong layer, the first that works of:

bubblewrap  own namespaces: no network, no foreign processes, and no files but Python and the stage; where libseccomp
            is installed, also no keyring and no IPC, which outlive a child
landlock    the kernel checks every path; with seccomp beside it, needed below ABI 6, where Landlock cannot
            yet keep signals in, and used wherever it loads

Without a strong layer the learner's code can read the disk. That is enough for self-study, where it is the
learner's own disk, and not for a class.
"""

from __future__ import annotations

import ctypes
import functools
import glob
import importlib.util
import os
import shutil
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from grader.problems import ROOT

NOBODY = 65534
MOST_WRITTEN = 64 << 20  # bytes in the scratch folder
KNOWN = ("process", "bubblewrap", "landlock", "seccomp")
LANDLOCK_KEEPS_SIGNALS = 6  # Landlock's ABI from which it scopes signals and abstract sockets
SYSTEM = ("/usr", "/lib", "/lib64", "/bin", "/sbin", "/nix/store", "/etc/ld.so.cache", "/etc/alternatives")
# What numerical libraries read to count cores; of /proc, only these besides the process's own folder.
FACTS = (
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/proc/stat",
    "/proc/filesystems",
    "/proc/sys/vm",
    "/sys/devices/system/cpu",
    "/sys/devices/system/node",
    "/dev/urandom",
    "/dev/random",
    "/dev/zero",
    "/usr/share/zoneinfo",
    "/etc/localtime",
)
# What CUDA reads when it starts (strace, driver 580).
GPU_FACTS = (
    "/proc/devices",
    "/proc/driver/nvidia",
    "/sys/module/nvidia",
    "/sys/module/nvidia_uvm",
    "/sys/bus/pci/devices",
    "/sys/devices/system/memory",
    *glob.glob("/sys/devices/pci*"),
)


class SandboxError(Exception):
    """No worker can be started as asked; the message is one clear sentence."""


@dataclass(frozen=True)
class Style:
    """One way to start a worker: the layers it gives, and how root gives itself up."""

    layers: tuple[str, ...]
    # How root gives itself up. "none": it is not root. "before": it drops before anything starts. "inside": the
    # worker drops, inside bubblewrap. "searching": the worker drops but may still enter folders that are closed
    # to others, which Landlock then bounds: the way when Python itself lies in one, such as /root.
    drop: str


def strong(layers: Iterable[str]) -> bool:
    """Whether these layers are enough for a class. Landlock alone leaves sockets that have a path; seccomp closes
    them."""
    return "bubblewrap" in layers or {"landlock", "seccomp"} <= set(layers)


@functools.cache
def landlock_abi() -> int:
    """The kernel's Landlock ABI, 0 where there is none (landlock_create_ruleset with the version flag)."""
    if sys.platform != "linux":
        return 0
    landlock_create_ruleset, version_flag = 444, 1
    return max(0, ctypes.CDLL(None).syscall(landlock_create_ruleset, None, 0, version_flag))


@functools.cache
def seccomp_loads() -> bool:
    if sys.platform != "linux" or importlib.util.find_spec("pyseccomp") is None:
        return False
    try:
        import pyseccomp  # noqa: F401
    except (ImportError, RuntimeError, OSError):  # libseccomp itself is not installed
        return False
    return True


def filter_of(chosen: Iterable[str]) -> str:
    """Which system calls are refused: 'whole' as a layer of its own; 'shared' beside bubblewrap, what namespaces leave
    shared between one child and the next; '' none, also where libseccomp is missing."""
    if "seccomp" in chosen:
        return "whole"
    return "shared" if "bubblewrap" in chosen and seccomp_loads() else ""


def landlock_reason() -> str | None:
    """Why Landlock cannot be the strong layer here, or None when it can."""
    if not landlock_abi():
        return "this kernel has no Landlock"
    if (folder := shows_the_course()) is not None:
        return f"the course lies below {folder}, which every worker may read: move it elsewhere"
    if importlib.util.find_spec("landlockpy") is None:
        return "the package landlockpy is not installed"
    if landlock_abi() < LANDLOCK_KEEPS_SIGNALS and not seccomp_loads():
        return f"Landlock ABI {landlock_abi()} needs seccomp beside it, and libseccomp is not installed"
    return None


def bubblewrap_reason() -> str | None:
    if sys.platform != "linux":
        return "bubblewrap runs on Linux only"
    if shutil.which("bwrap") is None:
        return "bubblewrap is not installed (Debian and Ubuntu: sudo apt install bubblewrap libseccomp2)"
    return None


def styles(asked: tuple[str, ...] | None) -> list[Style]:
    """The ways to try, best first. `asked` names exact layers; None leaves the choice to us."""
    root = os.geteuid() == 0
    plain = "before" if root else "none"
    if asked is None:
        found = []
        if bubblewrap_reason() is None:
            found += [Style(("process", "bubblewrap"), how) for how in (("inside", "before") if root else ("none",))]
        if landlock_reason() is None:
            extra = ("seccomp",) if seccomp_loads() else ()
            found += _landlock_styles(("process", "landlock", *extra), root)
        return [*found, Style(("process",), plain)]

    for layer in asked:
        if layer not in KNOWN:
            raise SandboxError(f"there is no sandbox layer {layer!r}; there are {', '.join(KNOWN)}.")
    layers = tuple(layer for layer in KNOWN if layer in asked or layer == "process")
    if "bubblewrap" in layers and (why := bubblewrap_reason()):
        raise SandboxError(f"--sandbox asks for bubblewrap, but {why}.")
    if "seccomp" in layers and not seccomp_loads():
        raise SandboxError("--sandbox asks for seccomp, but libseccomp or the package pyseccomp is not installed.")
    if "landlock" in layers:
        if not landlock_abi() or importlib.util.find_spec("landlockpy") is None or shows_the_course():
            raise SandboxError(f"--sandbox asks for landlock, but {landlock_reason()}.")
        if landlock_abi() < LANDLOCK_KEEPS_SIGNALS and "seccomp" not in layers:
            raise SandboxError(
                f"--sandbox asks for landlock, but ABI {landlock_abi()} of this kernel needs "
                "seccomp beside it: ask for landlock,seccomp."
            )
    if "bubblewrap" in layers and root:
        return [Style(layers, "inside"), Style(layers, "before")]
    if "landlock" in layers:
        return _landlock_styles(layers, root)
    return [Style(layers, plain)]


def _landlock_styles(layers: tuple[str, ...], root: bool) -> list[Style]:
    if not root:
        return [Style(layers, "none")]
    # seccomp refuses open_by_handle_at, the one call that the right to search could be turned against us with
    if where_nobody_may_not_go() is not None and "seccomp" in layers:
        return [Style(layers, "searching")]
    return [Style(layers, "before")]


def python_paths() -> list[str]:
    """The folders that a worker's Python is made of: its prefix, the base it was made from, its real home."""
    paths = [sys.prefix, sys.base_prefix, str(Path(sys.executable).resolve().parent.parent)]
    return [p for p in dict.fromkeys(paths) if p not in ("/", "/usr")]


def shows_the_course() -> str | None:
    """The folder shown to every worker that the course lies below, such as /usr, or None."""
    for path in (*SYSTEM, *python_paths()):
        if ROOT.is_relative_to(path):
            return path
    return None


def readable(stage: Path) -> list[str]:
    """What a worker may read under Landlock."""
    return [*SYSTEM, *FACTS, *python_paths(), str(stage), *(GPU_FACTS if gpu_devices() else ())]


def gpu_devices() -> list[str]:
    """The device files that CUDA opens, for reading and writing."""
    return sorted(glob.glob("/dev/nvidia*"))


def bubblewrap_command(stage: Path, scratch: Path, drop: str) -> list[str]:
    """`bwrap ...` up to the program: empty namespaces, and read-only what Python needs.

    The scratch folder is a small file system in memory, gone with the process. Without user namespaces (root,
    who drops inside) the two capabilities that dropping needs are kept until then.
    """
    command = [
        os.path.abspath(shutil.which("bwrap") or "bwrap"),  # a worker has a PATH of its own
        "--unshare-ipc",
        "--unshare-pid",
        "--unshare-net",
        "--unshare-uts",
        "--unshare-cgroup-try",
        "--die-with-parent",
        "--new-session",
        "--as-pid-1",  # else that is a process of bwrap's own, under no filter and the learner's to trace
        "--cap-drop",
        "ALL",
    ]
    if drop == "inside":
        command += ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
    else:
        command += ["--unshare-user"]
    command += ["--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"]
    shown = (*SYSTEM, *python_paths(), str(stage))
    # bwrap makes the folders on the way with mode 0700, which would stop a worker that drops to another user
    for folder in dict.fromkeys(str(p) for path in (*shown, str(scratch)) for p in reversed(Path(path).parents)):
        if folder not in ("/", "/tmp"):
            command += ["--perms", "0755", "--dir", folder]
    for path in shown:
        command += ["--ro-bind-try", path, path]
    if shows_the_course() is not None:
        # the course lies below a folder that is shown: cover it, and show again what of Python lies in it
        command += ["--perms", "0755", "--tmpfs", str(ROOT)]
        for path in (*python_paths(), str(stage)):
            if Path(path).is_relative_to(ROOT):
                command += ["--ro-bind-try", path, path]
    for path in gpu_devices():
        command += ["--dev-bind-try", path, path]
    command += ["--perms", "1777", "--size", str(MOST_WRITTEN), "--tmpfs", str(scratch)]
    for place in ("/dev/pts", "/dev", "/tmp", "/"):  # the scratch folder, mounted on its own, stays writable
        command += ["--remount-ro", place]
    command += ["--chdir", "/"]
    return command


@functools.cache
def where_nobody_may_not_go() -> str | None:
    """The folder on the way to Python that an unprivileged user may not enter, or None."""
    for path in python_paths():
        for folder in (Path(path), *Path(path).parents):
            try:
                mode = folder.stat().st_mode
            except OSError:
                continue
            if not mode & 0o001:
                return str(folder)
    return None
