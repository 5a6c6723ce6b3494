"""What the worker does to itself before a line of the learner's code runs. Standard library, plus one package
for each kernel layer, imported only when that layer is on."""

from __future__ import annotations

import ctypes
import fcntl
import os
import signal
import socket
import stat
import sys
import time

LINUX = sys.platform == "linux"
# prctl(2)
PDEATHSIG, DUMPABLE, KEEPCAPS, CHILD_SUBREAPER, NO_NEW_PRIVS = 1, 4, 8, 36, 38
CAP_DAC_READ_SEARCH = 2


def prctl(option: int, value: int) -> None:
    if LINUX:
        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def drop_to(uid: int, keep_search: bool = False) -> None:
    """Gives up root for good. With `keep_search` one capability stays, CAP_DAC_READ_SEARCH: to read and enter
    what is closed to others, for a Landlock domain to bound."""
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    if keep_search:
        prctl(KEEPCAPS, 1)
    os.setresuid(uid, uid, uid)
    if keep_search:
        # capset(2), version 3: a header, then (effective, permitted, inheritable) for the low and the high 32 bits
        only = 1 << CAP_DAC_READ_SEARCH
        header = (ctypes.c_uint32 * 2)(0x20080522, 0)
        data = (ctypes.c_uint32 * 6)(only, only, 0, 0, 0, 0)
        if ctypes.CDLL(None, use_errno=True).capset(header, data) != 0:
            raise OSError(ctypes.get_errno(), "capset")


def limit(limits: dict[str, int]) -> None:
    """Sets each rlimit, soft and hard, or the hard one that is there if that is lower."""
    import resource

    for name, value in limits.items():
        kind = getattr(resource, name, None)
        if kind is None:
            continue
        hard = resource.getrlimit(kind)[1]
        if hard != resource.RLIM_INFINITY:
            value = min(value, hard)
        try:
            resource.setrlimit(kind, (value, value))
        except (ValueError, OSError):
            if name not in ("RLIMIT_AS", "RLIMIT_DATA"):  # macOS refuses these two
                raise


def landlock(readable: list[str], writable: list[str], written: list[str]) -> None:
    """From here on: read these paths, write under `writable`, and to files that are there under `written`; nothing
    else; no TCP, no signals to outsiders."""
    from landlockpy import AccessFS, Ruleset, Scope

    read = AccessFS.READ_FILE | AccessFS.READ_DIR | AccessFS.EXECUTE
    write = read | AccessFS.WRITE_FILE | AccessFS.TRUNCATE | AccessFS.MAKE_REG | AccessFS.MAKE_DIR
    write |= AccessFS.REMOVE_FILE | AccessFS.REMOVE_DIR
    with Ruleset(scoped=Scope.ABSTRACT_UNIX_SOCKET | Scope.SIGNAL) as rules:
        for path in readable:
            if os.path.exists(path):
                rules.allow_path(path, read if os.path.isdir(path) else AccessFS.READ_FILE | AccessFS.EXECUTE)
        for path in writable:
            if os.path.isdir(path):
                rules.allow_path(path, write)
            elif os.path.exists(path):  # a GPU's device file, where everything goes through ioctl
                rules.allow_path(path, AccessFS.READ_FILE | AccessFS.WRITE_FILE | AccessFS.IOCTL_DEV)
        rules.allow_path(os.devnull, AccessFS.READ_FILE | AccessFS.WRITE_FILE)
        for path in written:
            rules.allow_path(path, AccessFS.READ_FILE | AccessFS.WRITE_FILE | AccessFS.TRUNCATE)
        rules.restrict()


# What no namespace parts, and no fresh child does away with: the user's keyring, the IPC objects of the worker's
# namespace, its parent's own limits, priority and processors, attributes and times of the scratch folder itself and of
# devices. Through them a test could leave word for the next. And namespaces of its own, where it could write as much as
# it likes, and what reaches for its parent.
SHARED = (
    "add_key",
    "keyctl",
    "request_key",
    "shmget",
    "shmat",
    "shmctl",
    "semget",
    "semop",
    "semtimedop",
    "semctl",
    "msgget",
    "msgsnd",
    "msgrcv",
    "msgctl",
    "mq_open",
    "mq_unlink",
    "setpriority",
    "ioprio_set",
    "sched_setscheduler",
    "sched_setattr",
    "sched_setparam",
    "utime",
    "utimes",
    "utimensat",
    "futimesat",
    "setxattr",
    "lsetxattr",
    "fsetxattr",
    "setxattrat",
    "removexattr",
    "lremovexattr",
    "fremovexattr",
    "removexattrat",
    "file_setattr",
    "unshare",
    "setns",
    "mount",
    "mount_setattr",
    "open_tree",
    "move_mount",
    "fsopen",
    "fsmount",
    "umount2",
    "pivot_root",
    "chroot",
    "ptrace",
    "process_vm_readv",
    "process_vm_writev",
    "kcmp",
    "pidfd_getfd",
    "bpf",
    "perf_event_open",
    "userfaultfd",
    "io_uring_setup",
)
# What starts programs or processes, signals others, or changes files by another way than opening them.
OUTSIDE = (
    "fork",
    "vfork",
    "execve",
    "execveat",
    "connect",
    "tkill",
    "rt_sigqueueinfo",
    "rt_tgsigqueueinfo",
    "pidfd_open",
    "pidfd_send_signal",
    "chmod",
    "fchmod",
    "fchmodat",
    "fchmodat2",
    "chown",
    "lchown",
    "fchown",
    "fchownat",
    "inotify_init",
    "inotify_init1",
    "inotify_add_watch",
    "fanotify_init",
    "symlink",
    "symlinkat",
    "link",
    "linkat",
    "mknod",
    "mknodat",
    "open_by_handle_at",
    "name_to_handle_at",
    "personality",
)
F_SETOWN_EX = 15  # fcntl(2)
# Calls that libseccomp may be too old to know. From 424 on a number is the same on every machine (Linux,
# scripts/syscall.tbl).
NEW = {
    "open_tree": 428,
    "move_mount": 429,
    "fsopen": 430,
    "fsmount": 432,
    "mount_setattr": 442,
    "fchmodat2": 452,
    "setxattrat": 463,
    "removexattrat": 466,
    "file_setattr": 469,
}
CLONE_NEWUSER, CLONE_THREAD = 0x10000000, 0x10000
SET_FLAGS = (0x40086602, 0x401C5820)  # ioctl: FS_IOC_SETFLAGS, FS_IOC_FSSETXATTR: attributes of a file


def seccomp(gpu: bool, whole: bool) -> None:
    """Refuses what is in SHARED and, when `whole`, also new processes, programs, sockets, signals to others and the
    rest of OUTSIDE.

    With a `gpu`, CUDA's own: a Unix socket of the kind SOCK_SEQPACKET, which it binds to an abstract name, and never
    connects. Without `connect` nobody outside can be reached through one.
    """
    import errno

    import pyseccomp as sc

    rules = sc.SyscallFilter(sc.ALLOW)
    refuse = sc.ERRNO(errno.EPERM)
    for name in (*SHARED, *(OUTSIDE if whole else ())):
        try:
            rules.add_rule(refuse, name)
        except (OSError, ValueError):
            if name in NEW:
                rules.add_rule(refuse, NEW[name])
            # else this architecture does not have it
    rules.add_rule(refuse, "prlimit64", sc.Arg(0, sc.NE, 0))  # its own limits are its own business
    for request in SET_FLAGS:
        rules.add_rule(refuse, "ioctl", sc.Arg(1, sc.MASKED_EQ, 0xFFFFFFFF, request))
    if not gpu:
        rules.add_rule(refuse, "sched_setaffinity", sc.Arg(0, sc.NE, 0))
        rules.add_rule(refuse, "memfd_create")  # files in memory that are no process's, and that nobody counts
    # clone3 hides its flags from the filter; ENOSYS makes libc fall back to clone, whose flags can be seen
    rules.add_rule(sc.ERRNO(errno.ENOSYS), "clone3")
    rules.add_rule(refuse, "clone", sc.Arg(0, sc.MASKED_EQ, CLONE_NEWUSER, CLONE_NEWUSER))
    if whole:
        rules.add_rule(refuse, "clone", sc.Arg(0, sc.MASKED_EQ, CLONE_THREAD, 0))
        me = os.getpid()
        for name in ("kill", "tgkill"):
            rules.add_rule(refuse, name, sc.Arg(0, sc.NE, me))
        for command in (fcntl.F_SETOWN, fcntl.F_SETSIG, F_SETOWN_EX):  # signals by way of a file
            rules.add_rule(refuse, "fcntl", sc.Arg(1, sc.EQ, command))
        for kind in (socket.SOCK_DGRAM, socket.SOCK_RAW):  # one end can send to any address, without `connect`
            rules.add_rule(refuse, "socketpair", sc.Arg(1, sc.MASKED_EQ, 0xF, kind))
        if gpu:
            rules.add_rule(refuse, "socket", sc.Arg(0, sc.NE, socket.AF_UNIX))
            rules.add_rule(refuse, "socket", sc.Arg(1, sc.NE, socket.SOCK_SEQPACKET | socket.SOCK_CLOEXEC))
        else:
            rules.add_rule(refuse, "socket")
            rules.add_rule(refuse, "bind")
    prctl(NO_NEW_PRIVS, 1)
    rules.load()


def empty(folder: str, seconds: float) -> bool:
    """Removes all that is in a folder, however deep and whatever its modes; False when time ran out before.

    Nothing may be writing into it any more. Each folder's own folders move up before it goes, so no path and no
    recursion gets long.
    """
    deadline, moved = time.monotonic() + seconds, 0
    try:
        os.chmod(folder, 0o700)
    except PermissionError:  # under bubblewrap it is a mount of root's, which everybody may write in
        pass
    while names := os.listdir(folder):
        for name in names:
            if time.monotonic() > deadline:
                return False
            path = os.path.join(folder, name)
            if not stat.S_ISDIR(os.lstat(path).st_mode):
                os.unlink(path)
                continue
            os.chmod(path, 0o700)
            for entry in os.listdir(path):
                inner = os.path.join(path, entry)
                if not stat.S_ISDIR(os.lstat(inner).st_mode):
                    os.unlink(inner)
                    continue
                os.chmod(inner, 0o700)  # a folder changes its parent: it must be writable itself
                moved += 1
                os.rename(inner, os.path.join(folder, f"{moved}.moved.{os.getpid()}"))
            os.rmdir(path)
    return True


def size_of(folder: str, most: int) -> int:
    """Bytes of the files below a folder, by the blocks they take; counting ends when there are more than `most`, or
    more than 50,000 names."""
    total, seen, waiting = 0, 0, [folder]
    while waiting and total <= most:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    seen += 1
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    total += entry.stat(follow_symlinks=False).st_blocks * 512
                    if seen > 50_000:
                        return most + 1
        except OSError:
            pass  # closed by the code that made it, or gone
    return total


def settle(config: dict, scratch: str) -> None:
    """The child's last step: an own session, death with its parent, limits, and the layers asked for."""
    os.setsid()
    prctl(PDEATHSIG, signal.SIGKILL)
    gpu = bool(config["devices"])
    if config["landlock"]:
        # CUDA names its threads, through /proc/self/task/*/comm
        landlock(
            [*config["readable"], "/proc/self"], [scratch, *config["devices"]], ["/proc/self/task"] if gpu else []
        )
    limit(config["rlimits"])
    if config["seccomp"] == "whole":  # 'shared' the worker has on already, and all its children with it
        seccomp(gpu, whole=True)
