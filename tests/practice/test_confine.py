"""What a submission leaves in its scratch folder goes, whatever it is, before its next test."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from contained import Course, why_not
from judging import LAYER_SETS, judge

from grader import confine, layers
from grader.problems import ROOT


def deep(folder):
    here = os.getcwd()
    os.chdir(folder)
    for _ in range(2000):  # far beyond PATH_MAX and Python's recursion limit
        os.mkdir("d" * 50)
        os.chdir("d" * 50)
    os.chdir(here)


def closed(folder):
    for name in ("a", "b"):
        (folder / name / "inside").mkdir(parents=True)
        (folder / name / "inside" / "file").write_text("x")
        (folder / name / "inside").chmod(0)
        (folder / name).chmod(0)


def odd(folder):
    (folder / "link").symlink_to(folder.parent)
    (folder / "dangling").symlink_to("nowhere")
    os.mkfifo(folder / "pipe")
    (folder / "name\nwith\x1b[31m").mkdir()


def alike(folder):
    for a in "ab":
        for b in "ab":
            (folder / a / b / "same" / "same").mkdir(parents=True)


@pytest.mark.parametrize("make", [deep, closed, odd, alike])
def test_a_folder_is_emptied_whatever_is_in_it(make, tmp_path):
    scratch, beside = tmp_path / "scratch", tmp_path / "beside"
    scratch.mkdir()
    beside.write_text("stays")
    make(scratch)
    assert confine.empty(str(scratch), 60)
    assert list(scratch.iterdir()) == [] and beside.read_text() == "stays"


def test_emptying_ends_when_its_time_is_over(tmp_path):
    (tmp_path / "file").write_text("x")
    assert not confine.empty(str(tmp_path), -1)


def test_the_size_of_a_folder_is_counted_up_to_a_bound(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "file").write_bytes(b"x" * 300_000)
    assert 300_000 <= confine.size_of(str(tmp_path), 1 << 20) < 400_000
    assert confine.size_of(str(tmp_path), 1000) > 1000


SOCKETS = """
import socket, sys
sys.path.insert(0, {folder!r})
import confine
confine.seccomp({gpu}, True)
def tried(*kind, then=lambda s: None):
    try:
        with socket.socket(*kind) as made:
            then(made)
    except PermissionError:
        return False
    return True
unix = socket.AF_UNIX
print(
    tried(unix, socket.SOCK_SEQPACKET, then=lambda s: (s.bind(chr(0) + 'cuda-uvmfd'), s.listen())),
    tried(unix, socket.SOCK_SEQPACKET, then=lambda s: s.connect(chr(0) + 'somebody')),
    tried(unix, socket.SOCK_STREAM),
    tried(unix, socket.SOCK_DGRAM),
    tried(socket.AF_INET, socket.SOCK_STREAM),
    tried(socket.AF_NETLINK, socket.SOCK_RAW),
)
def pair(kind):
    try:
        for end in socket.socketpair(unix, kind):
            end.close()
    except PermissionError:
        return False
    return True
print(pair(socket.SOCK_STREAM), pair(socket.SOCK_DGRAM), pair(socket.SOCK_RAW))
"""


@pytest.mark.parametrize("gpu", [False, True])
def test_seccomp_leaves_the_socket_that_cuda_listens_at_and_no_other(gpu):
    if not layers.seccomp_loads():
        pytest.skip("libseccomp is not installed")
    program = SOCKETS.format(folder=str(ROOT / "practice" / "grader"), gpu=gpu)
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    # of a pair of datagram sockets, one end could send to any address without connecting
    assert ran.stdout.split() == [str(gpu), *["False"] * 5, "True", "False", "False"], ran.stderr


NAMED = """
import sys, threading
sys.path.insert(0, {folder!r})
import confine
confine.landlock(['/usr', '/proc/self'], [], {written})
def tried(path):
    try:
        open(path, 'w').close()
    except PermissionError:
        return False
    return True
print(tried(f'/proc/self/task/{{threading.get_native_id()}}/comm'), tried('/proc/self/oom_score_adj'))
"""


@pytest.mark.parametrize("written", [[], ["/proc/self/task"]], ids=["no gpu", "gpu"])
def test_landlock_lets_cuda_name_its_threads_and_nothing_else_of_proc(written):
    """libcuda opens the name of each thread to write it, and does not start when it may not."""
    if why := layers.landlock_reason():
        pytest.skip(why)
    program = NAMED.format(folder=str(ROOT / "practice" / "grader"), written=written)
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ran.stdout.split() == [str(bool(written)), "False"], ran.stderr


# Writes a mark wherever it may, and says where it finds one of a test before.
MARKS = """
import os, tempfile
scratch = os.environ['TMPDIR']
places = ['.', scratch, os.path.dirname(scratch), os.path.dirname(os.path.dirname(scratch)), tempfile.gettempdir()]
places += ['/', '/tmp', '/var/tmp', '/dev', '/dev/shm', '/dev/mqueue', '/run', os.path.dirname(__file__)]
marks = [os.path.join(place, 'mark-of-a-test') for place in places]
said, written = [f'found {mark}' for mark in marks if os.path.exists(mark)], 0
for mark in marks:
    try:
        open(mark, 'w').close()
        written += 1
    except OSError:
        pass
if LEAVE:
    os.makedirs('closed/inner')
    try: os.chmod('closed', 0)
    except OSError: pass  # under seccomp
def pad_to(bs, sizes): print(f'{written} written', *said)
"""


@pytest.mark.parametrize("leave", [False, True], ids=["plain", "closed folders"])
@pytest.mark.parametrize("asked", LAYER_SETS)
def test_no_test_finds_what_one_before_it_wrote(submit, asked, leave):
    """Each test gets a child that knows nothing: not what was tried before, nor what was answered."""
    if why := LAYER_SETS[asked]():
        pytest.skip(why)
    report = judge(133, submit(MARKS.replace("LEAVE", str(leave))), "--part", "pad_to", "--sandbox", asked)
    assert [t["outcome"] for t in report["tests"]] == ["wrong answer"] * 4
    for test in report["tests"]:
        assert "written" in test["printed"] and "0 written" not in test["printed"]
        assert "found" not in test["printed"], test["printed"]


# Leaves word where no file is: in what the kernel keeps for the user, the namespace or the worker.
WORD = """
import ctypes, os, resource, secrets
libc, found = ctypes.CDLL(None, use_errno=True), []
def call(number, *args):
    return libc.syscall(number, *args)
if os.uname().machine == 'x86_64':
    ADD_KEY, KEYCTL, SHMGET, MSGGET, SEMGET, MQ_OPEN = 248, 250, 29, 68, 64, 240
else:
    ADD_KEY, KEYCTL, SHMGET, MSGGET, SEMGET, MQ_OPEN = 217, 219, 194, 186, 190, 180
USER, NEW = ctypes.c_long(-4), 0o3600  # the user's keyring; IPC_CREAT | IPC_EXCL | 0600
if call(KEYCTL, 10, USER, b'user', b'mini-llm-test', 0) > 0: found.append('key')
call(ADD_KEY, b'user', b'mini-llm-test', b'x', 1, USER)
for name, number, args in (
    ('memory', SHMGET, (4242, 4096)), ('messages', MSGGET, (4242,)), ('semaphore', SEMGET, (4242, 1))
):
    if call(number, *args, NEW) < 0 and ctypes.get_errno() == 17: found.append(name)  # EEXIST
if call(MQ_OPEN, b'mini-llm-test', 0o302, 0o600, None) < 0 and ctypes.get_errno() == 17: found.append('queue')
parent = os.getppid()
def changed(name, now, change):
    try:
        before = now()
        change()
        if now() != before: found.append(name)
    except (OSError, AttributeError, ValueError): pass
changed('limit', lambda: resource.prlimit(parent, resource.RLIMIT_STACK), lambda: resource.prlimit(
    parent, resource.RLIMIT_STACK, (4100096, 4100096)))
changed('nice', lambda: os.getpriority(os.PRIO_PROCESS, parent), lambda: os.setpriority(os.PRIO_PROCESS, parent, 7))
changed('processors', lambda: os.sched_getaffinity(parent), lambda: os.sched_setaffinity(
    parent, [min(os.sched_getaffinity(parent))]))
def pad_to(bs, sizes): print('found', *found)
"""


@pytest.mark.parametrize("asked", LAYER_SETS)
def test_no_test_leaves_word_for_another_in_the_kernel(submit, asked):
    """Namespaces part neither the keyring of a user nor, from one child to the next, IPC and the worker itself."""
    if why := LAYER_SETS[asked]():
        pytest.skip(why)
    if not layers.seccomp_loads():
        pytest.skip("libseccomp is not installed")
    report = judge(133, submit(WORD), "--part", "pad_to", "--sandbox", asked)
    assert [t["printed"].split() for t in report["tests"]] == [["found"]] * 4


# Reaches for the worker and its namespaces, for devices and for memory that belongs to no process.
REACH = """
import ctypes, os
libc, found = ctypes.CDLL(None, use_errno=True), []
def tried(name, act):
    try:
        if act() != -1: found.append(name)
    except OSError: pass
above = os.path.dirname(os.getcwd())
for name in ('mem', 'fd/1', 'coredump_filter', 'oom_score_adj', 'autogroup'):
    tried(name, lambda: open(f'/proc/1/{name}', 'r+b').close())
tried('environ', lambda: open('/proc/1/environ', 'rb').close())
tried('ptrace', lambda: libc.ptrace(16, 1, 0, 0))
tried('attribute', lambda: os.setxattr(above, 'user.word', b'x'))
tried('times', lambda: os.utime(above, (1, 1)))
tried('device', lambda: os.utime('/dev/full'))
tried('mode', lambda: os.chmod('/dev/pts', 0o711))
tried('namespace', lambda: libc.unshare(0x10000000))
if not GPU: tried('memory', lambda: os.memfd_create('x'))
def pad_to(bs, sizes): print('found', *found)
"""


@pytest.mark.parametrize("asked", ["bubblewrap", "landlock,seccomp"])
def test_the_worker_and_the_machine_are_out_of_reach_for_an_ordinary_user(asked):
    """The learner's code has the user of the worker, and of bwrap: that alone opens neither to it."""
    if why := why_not() or LAYER_SETS[asked]():
        pytest.skip(why)
    if not layers.seccomp_loads():
        pytest.skip("libseccomp is not installed")
    with tempfile.TemporaryDirectory(prefix="reach-") as folder:
        Path(folder).chmod(0o755)
        file = Path(folder) / "reach.py"
        file.write_text(REACH.replace("GPU", str(bool(layers.gpu_devices()))))
        course = Course(Path(folder))
        report, _ = course.judge("133", str(file), "--part", "pad_to", "--sandbox", asked, name="reach")
    assert "tests" in report, report
    assert [t["printed"].split() for t in report["tests"]] == [["found"]] * 4


NEWER = """
import ctypes, os, sys
sys.path.insert(0, {folder!r})
import confine, pyseccomp
known = pyseccomp.SyscallFilter.add_rule
def add_rule(self, action, call, *args):  # a libseccomp that is too old to know them
    if call in confine.NEW:
        raise ValueError(call)
    return known(self, action, call, *args)
pyseccomp.SyscallFilter.add_rule = add_rule
confine.seccomp(False, True)
libc, said = ctypes.CDLL(None, use_errno=True), []
for number in confine.NEW.values():
    libc.syscall(number, -1, 0, 0, 0, 0, 0)
    said.append(ctypes.get_errno())
print(*said)
"""


def test_calls_that_libseccomp_does_not_know_are_refused_by_their_number():
    if not layers.seccomp_loads():
        pytest.skip("libseccomp is not installed")
    program = NEWER.format(folder=str(ROOT / "practice" / "grader"))
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert set(ran.stdout.split()) == {str(errno.EPERM)}, ran.stdout + ran.stderr


def test_what_is_printed_does_not_keep_the_judge_from_looking(submit):
    """Files are counted by the clock, and not only while the code is silent."""
    writes = """
import os, time
def pad_to(bs, sizes):
    for i in range(40):
        with open(f'f{i}', 'wb') as f: f.write(bytes(8 << 20))
        for _ in range(5):
            os.write(1, b'.'); time.sleep(0.02)
"""
    asked = "landlock,seccomp" if not LAYER_SETS["landlock,seccomp"]() else "process"
    if asked == "process" and os.geteuid() == 0:
        pytest.skip("no layer here shows the child's files to the judge")
    report = judge(133, submit(writes), "--part", "pad_to", "--sandbox", asked)
    assert "MiB or 50,000 files" in report["tests"][0]["why"]


TOLD = """
import os, tempfile
scratch = os.environ['TMPDIR']
said = [f'{k}={v}' for k, v in os.environ.items() if os.path.dirname(scratch) in v and scratch not in v]
said += [tempfile.gettempdir()] if tempfile.gettempdir() != scratch else []
def copy_in(*args): raise RuntimeError(f'told of {said}')
"""


def test_a_child_is_told_of_its_own_folder_only(submit):
    """torch asks for the temporary folder while it is imported, in the worker that all children are forked from."""
    report = judge(132, submit(TOLD), "--part", "copy_in")
    assert "told of []" in report["tests"][0]["message"]


def test_a_folder_that_cannot_be_emptied_in_time_costs_the_next_test_nothing(submit, monkeypatch):
    """The worker is started again, with an empty folder; three times, since to clear away takes as long as a hang."""
    from grader import problems, runner
    from grader.session import Session

    started = []
    monkeypatch.setattr(Session, "_launch", lambda self, was=Session._launch: started.append(1) or was(self))
    order = Session._order
    monkeypatch.setattr(Session, "_order", lambda *args, **more: order(*args, **more) | {"emptied": False})
    source = submit().read_bytes()
    report = runner.judge(problems.get(133), source, "mine.py", part="pad_to")
    assert [t.outcome for t in report.tests] == ["passed"] * 3 + ["not run"] and len(started) == 3
