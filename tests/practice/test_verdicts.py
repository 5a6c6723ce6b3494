"""Each verdict of the contract, and what its report tells the learner."""

from __future__ import annotations

import pytest
from judging import judge, run

from grader.report import printable


def failing(report: dict) -> dict:
    return next(t for t in report["tests"] if t["outcome"] != "passed")


@pytest.mark.parametrize(
    ("source", "verdict", "says"),
    [
        ("def pad_to(bs, sizes): return True", "wrong answer", "not a bool"),
        ("def pad_to(bs, sizes): sizes.append(1)", "wrong answer", "changed the arguments"),
        ("def pad_to(bs, sizes): sizes.append(object())", "wrong answer", "changed the arguments"),
        ("import numpy\ndef pad_to(bs, sizes): return numpy.int64(4)", "wrong answer", "numpy.int64"),
        ("def pad_to(bs, sizes): return unknown", "error", "name 'unknown' is not defined"),
        ("def pad_to(bs, sizes): raise KeyboardInterrupt", "error", "KeyboardInterrupt"),
        ("def pad_to(bs, sizes): exit(0)", "error", ""),
        ("def pad_to(bs): return 1", "error", "takes 1 positional argument but 2 were given"),
        ("pad_to = 3", "error", "not callable"),
        ("def pad_to(:", "import error", "SyntaxError"),
        ("import no_such_package", "import error", "No module named 'no_such_package'"),
        ("import sys; sys.exit(0)", "import error", "SystemExit"),
        ("while True: pass", "timeout", "did not finish in 3 s"),
        ("def pad_to(bs, sizes): return bytearray(3 << 30)", "memory", "2048 MiB"),
        ("import os; os.kill(os.getpid(), 9)", "crashed", "SIGKILL"),
        ("import os\ndef pad_to(bs, sizes): os._exit(7)", "crashed", "exit code 7"),
        ("import os\ndef pad_to(bs, sizes):\n  os.write(3, b'x' * 9)\n  return 1", "crashed", "judge's channel"),
    ],
)
def test_verdict(submit, source, verdict, says):
    report = judge(133, submit(source))
    assert report["verdict"] == verdict and report["exit"] == 1
    assert says in failing(report)["message"]
    assert "/mini-llm-judge-" not in str(report), "a path of the sandbox is shown"


def test_a_broken_import_is_reported_once(submit):
    ran = run(133, submit("import no_such_package"))
    assert ran.stdout.count("No module named 'no_such_package'") == 1


def test_three_timeouts_and_the_rest_is_not_run(submit):
    report = judge(133, submit("def f(*a):\n    while True: pass\npad_to = expected_waste = best_sizes = f"))
    outcomes = [t["outcome"] for t in report["tests"]]
    assert outcomes.count("timeout") == 3 and outcomes.count("not run") == 13 and report["score"] == 0
    assert "pad_to() did not finish in 5 s" in failing(report)["message"]


def test_the_message_holds_property_input_expected_got_and_the_mistake(submit):
    report = judge(133, submit(pad_to="def pad_to(bs, sizes): return next((s for s in sizes if s > bs), None)"))
    test = failing(report)
    assert test["rule"] and test["call"].startswith("pad_to(") and test["expected"] and test["got"]
    assert "at least bs, not above bs" in test["diagnosis"] == report["diagnosis"]
    for words in (test["rule"], test["call"], f"expected: {test['expected']}", f"got: {test['got']}"):
        assert words in test["message"]


def test_the_shortest_failing_input_is_shown(submit):
    report = judge(133, submit(pad_to="def pad_to(bs, sizes): return 0"))
    assert len(failing(report)["call"]) <= len("pad_to(2, [1, 4])") and "inputs fail" in failing(report)["share"]


def test_only_the_learners_frames_are_shown(submit):
    bad = "def helper(x):\n    return 1 // x\ndef pad_to(bs, sizes):\n    return helper(0)\n"
    message = failing(judge(133, submit(bad)))["message"]
    assert "mine.py" in message and "return 1 // x" in message and "worker.py" not in message


def test_output_is_kept_cut_and_escaped(submit):
    noisy = "def pad_to(bs, sizes):\n    print('\\x1b[2J' + 'x' * 100000)\n    return 0\n"
    path = submit(noisy)
    printed = failing(judge(133, path))["printed"]
    assert "xxx" in printed and "more bytes" in printed and len(printed) < 10_000
    assert "\x1b[2J" not in run(133, path).stdout
    assert printable("a\x1bb\u202ec") == "a\\x1bb\\x202ec"


def test_a_flood_of_output_neither_blocks_nor_fills_memory(submit):
    flood = (
        "import sys\ndef pad_to(bs, sizes):\n    for _ in range(2000): sys.stdout.write('y' * 10000)\n    return 0\n"
    )
    assert judge(133, submit(flood), "--part", "pad_to")["verdict"] == "wrong answer"


def test_the_source_of_a_hidden_test_is_never_shown(submit):
    ran = run(133, submit("def pad_to(*a): return 0\ndef expected_waste(*a): return 9\ndef best_sizes(*a): return []"))
    for secret in ("check.each", "oracle", "rng", "test_hidden"):
        assert secret not in ran.stdout


@pytest.mark.parametrize("encoding", ["utf-8-sig", "latin-1"])
def test_a_file_is_read_as_python_reads_it(submit, encoding):
    from judging import solution

    head = "# -*- coding: latin-1 -*-\n" if encoding == "latin-1" else ""
    source = head + "NAME = 'café'\n" + solution().replace("from __future__ import annotations\n", "")
    ascii_only = source.encode(encoding, "ignore").replace(b"\n", b"\r\n")
    assert judge(133, submit(ascii_only))["verdict"] == "accepted"


def test_of_the_function_under_test_the_worker_sees_nothing(submit):
    peek = """
import importlib, inspect, pathlib, sys
import mini_llm.buckets as b
SEEN = {n: inspect.getsource(getattr(b, n)) for n in ('pad_to', 'expected_waste', 'best_sizes')}
def pad_to(bs, sizes):
    raise RuntimeError(' / '.join(s.strip().splitlines()[-1].strip() for s in SEEN.values()))
"""
    message = failing(judge(133, submit(peek)))["message"]
    assert message.count("grown in chapter 3") == 3


def test_other_functions_of_the_package_are_the_reference(submit):
    uses = "from mini_llm.buckets import default_capture_sizes\nassert len(default_capture_sizes()) == 51\n"
    report = judge(133, submit(uses + "def pad_to(bs, sizes): return next((s for s in sizes if s >= bs), None)"))
    assert report["parts"]["pad_to"]["score"] == 1.0
