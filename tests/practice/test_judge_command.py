"""The command line, as the contract states it: exit status, JSON, seeds, files left alone."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

import pytest
from judging import JUDGE, judge, run, solution, with_default_signals

from grader import cli, layers, signals
from grader.problems import ROOT


def cli_commands() -> list[str]:
    """What the usage names."""
    named = re.findall(r"^  ([a-z][a-z-]+)(?: [\[\]A-Z. ]+)?  ", cli.overview("judge.py"), re.M)
    assert len(named) >= 12
    return named


VERDICT_KEYS = {"problem", "verdict", "passed", "total", "score", "seed", "seconds", "sandbox", "tests"}


def test_accepted(submit):
    report = judge(133, submit())
    assert (report["verdict"], report["exit"], report["score"], report["total"]) == ("accepted", 0, 1.0, 16)
    assert VERDICT_KEYS <= set(report) and report["sandbox"][0] == "process"
    for test in report["tests"]:
        assert {"name", "outcome", "seconds", "message"} <= set(test)
        assert test["outcome"] == "passed" and test["message"] == ""


def test_both_spellings_are_one_program(submit):
    other = subprocess.run(
        [sys.executable, str(ROOT / "judge.py"), "133", str(submit()), "--json"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert other.returncode == 0 and json.loads(other.stdout)["verdict"] == "accepted"


def test_the_last_line_of_stdout_is_the_json(submit):
    ran = run(
        133, submit(pad_to="print('{}')\ndef pad_to(bs, sizes):\n  print('{\"verdict\": \"accepted\"}')"), "--json"
    )
    assert json.loads(ran.stdout.splitlines()[-1])["verdict"] == "wrong answer"


def test_pad_to_alone_scores(submit):
    report = judge(133, submit("def pad_to(bs, sizes):\n    return next((s for s in sizes if s >= bs), None)\n"))
    assert report["exit"] == 1 and report["verdict"] == "error"
    assert report["parts"]["pad_to"]["score"] == 1.0 and report["passed"] == 4
    assert "defines no expected_waste" in next(t for t in report["tests"] if t["outcome"] != "passed")["message"]


def test_the_functions_are_graded_one_by_one(submit):
    report = judge(133, submit(expected_waste="def expected_waste(dist, sizes): return -1.0"))
    scores = {part: row["score"] for part, row in report["parts"].items()}
    assert scores == {"pad_to": 1.0, "expected_waste": 0.0, "best_sizes": 1.0}


def test_examples_are_never_an_acceptance(submit):
    report = judge(133, submit(), "--examples")
    assert (report["verdict"], report["exit"]) == ("examples passed", 0)
    assert judge(133, submit(pad_to="def pad_to(bs, sizes): return 4"), "--examples")["exit"] == 1


def test_one_part(submit):
    report = judge(133, submit(best_sizes="def best_sizes(*a): return 1"), "--part", "pad_to")
    assert report["verdict"] == "accepted" and report["total"] == 4


def test_a_seed_gives_the_same_inputs_again(submit):
    bad = submit(pad_to="def pad_to(bs, sizes): return next((s for s in sizes if s > bs + 1), None)")
    first, again, other = (judge(133, bad, "--seed", seed) for seed in (7, 7, 8))
    calls = [[t["call"] for t in r["tests"]] for r in (first, again, other)]
    assert first["seed"] == 7 and calls[0] == calls[1] and calls[0] != calls[2]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["999"], "there is no problem 999"),
        (["133", "nowhere.py"], "there is no file nowhere.py"),
        (["133", "."], "is a folder"),
        (["133", "--seed", "x"], "--seed"),
        (["133", "--part", "pads"], "no part 'pads'"),
        (["133", "--no-such"], "--no-such"),
        (["mine.py"], "name the problem first"),
        (["hint", "133", "99"], "hints 1 to"),
        (["frobnicate"], "there is no problem frobnicate"),
        (["wacth", "133"], "did you mean `python"),
        (["133", "/dev/zero"], "is a device"),
        (["133", "\x1b[31m.py"], "there is no file \\x1b[31m.py"),
        (["show"], "name a problem"),
        (["list", "everything"], "unrecognized arguments: everything"),
        (["watch", "999"], "there is no problem 999"),
        (["watch", "133", "nowhere.py"], "there is no file nowhere.py"),
        (["reset"], "name a problem"),
        (["reset", "133x"], "there is no problem 133x"),
        (["catch-up"], "name a chapter"),
        (["catch-up", "0"], "there is no chapter 0"),
        (["catch-up", "three"], "there is no chapter three"),
        (["solution", "133"], "--yes answers yes"),
        (["all", "--seed", "x"], "'x' is no whole number"),
    ],
)
def test_wrong_usage_is_exit_2_and_a_sentence(arguments, says, workspace, capsys):
    ran = run(*arguments)
    assert ran.returncode == 2 and says in ran.stderr and len(ran.stderr.splitlines()) == 1
    assert cli.main([*arguments, "--json"]) == 2
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["exit"] == 2


@pytest.mark.parametrize("kind", ["fifo", "loop", "socket", "large", "link to a device", "link to a file"])
def test_only_a_regular_file_is_read_and_nothing_is_waited_for(submit, tmp_path, kind):
    odd = tmp_path / "odd.py"
    if kind == "fifo":
        os.mkfifo(odd)
    elif kind == "loop":
        odd.symlink_to(odd)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(str(odd))
    elif kind == "large":
        odd.write_bytes(b"#" * (1 << 20) + b"\n")
    elif kind == "link to a device":
        odd.symlink_to("/dev/zero")
    else:
        odd.symlink_to(submit())
        assert judge(133, odd)["verdict"] == "accepted"
        return
    ran = run(133, odd)
    assert ran.returncode == 2 and str(odd) in ran.stderr and len(ran.stderr.splitlines()) == 1


def test_a_files_name_is_printed_escaped(submit):
    ran = run(133, submit(name="a\x1b[31m\nred.py"))
    assert ran.returncode == 0 and "a\\x1b[31m\\nred.py" in ran.stdout and "\x1b" not in ran.stdout
    assert judge(133, submit(name=os.fsdecode(b"b\xff.py")))["file"].endswith("b\\xff.py")


@pytest.mark.parametrize("command", cli_commands())
def test_each_command_says_what_it_does(command, capsys):
    assert cli.main([command, "--help"]) == 0
    said = capsys.readouterr().out
    assert f"judge.py {command}" in said and len(said.split("\n\n")[1].split()) > 7, said


def test_nothing_typed_shows_the_usage():
    assert run().returncode == 2 and "usage:" in run().stdout
    assert run("--help").returncode == 0


def test_a_layer_that_is_not_there_is_an_error(submit):
    ran = run(133, submit(), "--sandbox", "process, chroot")
    assert ran.returncode == 2 and "no sandbox layer 'chroot'" in ran.stderr


def test_a_broken_problem_is_the_judges_failure(submit, tmp_path):
    copy = tmp_path / "course"
    shutil.copytree(ROOT / "practice", copy / "practice", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "mini_llm", copy / "mini_llm", ignore=shutil.ignore_patterns("__pycache__"))
    tests = copy / "practice" / "problems" / "133_capture_sizes" / "test_hidden.py"
    for change in (
        "\ndef test_pad_to_more(check):\n    check.each('pad_to', [(1, [1])], oracle.pad_to)\n",
        "\n1 / 0\n",
        "\ndef test_of_nothing(check): pass\n",
    ):
        original = tests.read_text()
        tests.write_text(original + change)
        ran = subprocess.run(
            [sys.executable, str(copy / "practice" / "judge.py"), "133", str(submit()), "--json"],
            capture_output=True,
            text=True,
            timeout=60,
        )
        tests.write_text(original)
        assert ran.returncode == 3, ran.stdout + ran.stderr
        assert "verdict" not in json.loads(ran.stdout.splitlines()[-1])


def test_the_stub_is_not_accepted_and_says_what_to_do(workspace):
    ran = run(133)
    assert ran.returncode == 1
    for words in ("not written yet", "buckets.py", "show 133"):
        assert words in ran.stdout, ran.stdout
    report = judge(133)
    assert report["score"] == 0 and report["verdict"] == "error"


def test_own_code_in_the_workspace(workspace):
    run("start", 133)
    (workspace / "mini_llm" / "buckets.py").write_text((ROOT / "mini_llm" / "buckets.py").read_text())
    assert judge(133)["verdict"] == "accepted"
    listed = json.loads(run("list", "--json").stdout)["problems"]
    assert {p["id"]: p["status"] for p in listed}[133] == "accepted"
    keys = {"id", "name", "title", "chapter", "level", "minutes", "needs", "status"}
    assert all(keys <= set(p) for p in listed)


def test_own_code_accepted_part_by_part_is_accepted(workspace):
    run("start", 134)
    (workspace / "mini_llm" / "buckets.py").write_text((ROOT / "mini_llm" / "buckets.py").read_text())

    def statuses():
        return {p["id"]: p["status"] for p in json.loads(run("list", "--json").stdout)["problems"]}

    for part in ("pad_to", "expected_waste", "best_sizes"):
        assert statuses()[133] == "started"
        assert judge(133, "--part", part)["verdict"] == "accepted"
    assert judge(134, "--examples")["verdict"] == "examples passed"
    assert statuses()[133] == "accepted" and statuses()[134] == "started"


def test_own_code_may_import_from_its_package(workspace):
    run("start", 133)
    source = (ROOT / "mini_llm" / "buckets.py").read_text()
    (workspace / "mini_llm" / "buckets.py").write_text(
        "from .buckets import default_capture_sizes as ladder\n" + source
    )
    assert judge(133)["verdict"] == "accepted"


def test_a_file_may_be_a_module_of_the_package(submit):
    source = "from .buckets import default_capture_sizes as ladder\n" + solution()
    assert judge(133, submit(source))["verdict"] == "import error"
    assert judge(133, submit(source), "--package")["verdict"] == "accepted"


def test_a_file_is_judged_without_writing_under_the_course(submit, workspace):
    def tree():
        return {
            p: p.stat().st_mtime_ns
            for p in ROOT.rglob("*")
            if not {".git", ".venv", "__pycache__", ".pytest_cache", ".ruff_cache"} & set(p.parts)
        }

    before = tree()
    judge(133, submit())
    assert not workspace.exists()
    changed = {p for p in tree().keys() ^ before.keys() if "practice" in p.parts or "workspace" in p.parts}
    assert not changed


def test_no_torch_and_no_bytecode(submit):
    script = (
        f"import sys; sys.dont_write_bytecode = True; sys.path.insert(0, {str(ROOT / 'practice')!r})\n"
        "from grader import cli\ncode = cli.main(sys.argv[1:])\n"
        "print([m for m in ('torch', 'numpy', 'nbgrader', 'mini_llm') if m in sys.modules], code)"
    )
    ran = subprocess.run([sys.executable, "-I", "-c", script, "133", str(submit())], capture_output=True, text=True)
    assert ran.stdout.splitlines()[-1] == "[] 0", ran.stdout + ran.stderr


def test_a_python_without_packages_says_what_to_run(tmp_path):
    course = tmp_path / "course"
    (course / "practice").mkdir(parents=True)
    (course / "practice" / "judge.py").write_text(JUDGE.read_text())
    base = os.path.realpath(sys.executable)
    ran = subprocess.run([base, "-S", str(course / "practice" / "judge.py"), "133"], capture_output=True, text=True)
    assert ran.returncode == 3 and "make learn" in ran.stderr and "Traceback" not in ran.stderr


def test_the_environment_of_the_caller_changes_nothing(submit, tmp_path):
    (tmp_path / "pytest.py").write_text("raise SystemExit(0)")
    (tmp_path / "conftest.py").write_text("raise SystemExit(0)")
    env = os.environ | {
        "PYTHONPATH": str(tmp_path),
        "PYTEST_ADDOPTS": "--collect-only",
        "PYTEST_PLUGINS": "nothing",
        "PYTHONSTARTUP": str(tmp_path / "pytest.py"),
    }
    assert judge(133, submit(), env=env, cwd=tmp_path)["verdict"] == "accepted"


HANGS = "import os\nprint(os.getpid())\ndef pad_to(bs, sizes):\n    while True: pass\n"


def started(path, *before: str) -> subprocess.Popen:
    command = [*before, sys.executable, str(JUDGE), "133", str(path), "--json"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, **pipes, preexec_fn=with_default_signals)


def wait_for_a_worker(temporary) -> None:
    until = time.monotonic() + 120
    while not _workers(temporary) and time.monotonic() < until:
        time.sleep(0.05)
    time.sleep(0.5)


def leaves_nothing(temporary) -> bool:
    for _ in range(50):
        if not _workers(temporary):
            break
        time.sleep(0.1)
    return not _workers(temporary) and not list(temporary.iterdir())


@pytest.mark.parametrize("moment", [0.15, 0.5])
def test_ctrl_c_at_the_start_leaves_nothing(submit, temporary, moment):
    judging = started(submit(HANGS))
    time.sleep(moment)
    judging.send_signal(signal.SIGINT)
    _, errors = judging.communicate(timeout=120)
    assert judging.returncode in (130, -signal.SIGINT, 1), errors
    # Python's own start-up answers with a traceback of its own, and with 1 while it looks for its modules
    assert "practice/grader" not in errors if "Traceback" in errors else judging.returncode != 1, errors
    assert leaves_nothing(temporary)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_stopped_while_it_judges_it_leaves_nothing(submit, temporary, how):
    """Ctrl-C, a `kill`, and a terminal that is closed."""
    judging = started(submit(HANGS))
    wait_for_a_worker(temporary)
    judging.send_signal(how)
    _, errors = judging.communicate(timeout=120)
    assert judging.returncode == 130 and errors.strip() == "stopped"
    assert leaves_nothing(temporary)


def test_a_judgement_under_nohup_outlives_its_terminal(submit, temporary):
    judging = started(submit(solution() + "\nimport time\ntime.sleep(0.2)\n"), "nohup")
    wait_for_a_worker(temporary)
    judging.send_signal(signal.SIGHUP)
    said, errors = judging.communicate(timeout=120)
    assert judging.returncode == 0 and json.loads(said.splitlines()[-1])["verdict"] == "accepted", errors


def _workers(temporary) -> list[str]:
    """Processes whose command names our temporary folder."""
    found = []
    for entry in os.listdir("/proc") if os.path.isdir("/proc") else []:
        try:
            with open(f"/proc/{entry}/cmdline", "rb") as f:
                command = f.read().replace(b"\0", b" ").decode("utf-8", "replace")
        except OSError:
            continue
        if str(temporary) in command and "worker.py" in command:
            found.append(command)
    return found


@pytest.mark.parametrize("command", ["list", "--help", "133 FILE", "133 FILE --json"])
def test_output_that_nobody_takes_is_no_verdict(submit, command):
    """A reader that has gone, a full disk, a stream that was closed."""
    words = f"{sys.executable} {JUDGE} {command.replace('FILE', str(submit()))}"
    for shell, status in (
        (f"{words} | (exec <&-; sleep 2); exit ${{PIPESTATUS[0]}}", 130),
        (f"{words} > /dev/full", 3),
        (f"{words} >&-", 0),
        (f"{words} <&- >&- 2>&-", 0),
    ):
        ran = subprocess.run(["bash", "-c", shell], capture_output=True, text=True)
        assert ran.returncode == status and "Traceback" not in ran.stderr and "ignored" not in ran.stderr, ran.stderr
        assert status != 3 or "no space is left for the output" in ran.stderr


def test_a_question_without_a_terminal_or_stdin(workspace):
    ran = subprocess.run(["bash", "-c", f"{sys.executable} {JUDGE} solution 136 <&-"], capture_output=True, text=True)
    assert ran.returncode == 2 and "--yes answers yes" in ran.stderr


@pytest.mark.skipif(layers.bubblewrap_reason() is not None, reason="bubblewrap is not installed")
def test_bubblewrap_is_found_wherever_the_path_has_it(submit, tmp_path):
    """A worker is started with a PATH of its own, on which it need not be."""
    hidden = tmp_path / "bin"
    hidden.mkdir()
    (hidden / "bwrap").write_text(f'#!/bin/sh\necho used >> {tmp_path}/used\nexec {shutil.which("bwrap")} "$@"\n')
    (hidden / "bwrap").chmod(0o755)
    report = judge(133, submit(), env=os.environ | {"PATH": f"{hidden}:{os.environ['PATH']}"})
    assert report["verdict"] == "accepted" and "bubblewrap" in report["sandbox"]
    assert (tmp_path / "used").exists()


def test_a_layer_that_cannot_be_started_is_a_sentence(submit, tmp_path, monkeypatch):
    (tmp_path / "bwrap").write_text("no program")
    (tmp_path / "bwrap").chmod(0o755)
    ran = run(133, submit(), "--sandbox", "bubblewrap", env=os.environ | {"PATH": str(tmp_path)})
    assert ran.returncode == 3 and "bubblewrap starts no worker here" in ran.stderr


def test_an_example_that_is_not_there_is_wrong_usage(submit):
    ran = run(138, submit("x = 1"), "--examples", "--part", "PiecewiseRunner")
    assert ran.returncode == 2 and "has no example of its own" in ran.stderr


def test_a_second_signal_waits_until_all_is_cleared_away():
    """Ctrl-C once more, while the judge is about to remove its folder."""
    done = []
    with pytest.raises(KeyboardInterrupt), signals.undisturbed():
        with signals.undisturbed():
            signal.raise_signal(signal.SIGINT)
            done.append("inner")
        signal.raise_signal(signal.SIGINT)
        done.append("outer")
    assert done == ["inner", "outer"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
