"""Each verdict of the contract, and what its report tells the learner."""

from __future__ import annotations

import json

import pytest
from judging import judge, run, solution

from grader import problems
from grader.report import printable
from grader.session import Session
from grader.solution import Solution


def failing(report: dict) -> dict:
    return next(t for t in report["tests"] if t["outcome"] != "passed")


@pytest.mark.parametrize(
    ("source", "verdict", "says"),
    [
        ("def pad_to(bs, sizes): return True", "wrong answer", "not a bool"),
        ("def pad_to(bs, sizes): sizes.append(1)", "wrong answer", "changed its second argument"),
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
    assert printable("a\u2028b") == "a\\x2028b"
    assert printable("e\u0301") == "e\u0301" and printable("e" + "\u0301" * 999).count("\u0301") < 20


def test_json_is_ascii_whatever_the_code_printed(submit):
    says = "def pad_to(bs, sizes): print('\\x9b2J\\u202e', chr(0xE0041)); return 0"
    ran = run(133, submit(says), "--part", "pad_to", "--json")
    assert ran.stdout.isascii() and "\u202e" in json.loads(ran.stdout)["tests"][0]["printed"]


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


PRINTS = """
def pad_to(bs, sizes):
    print('looking for', bs)
    print(next((s for s in sizes if s >= bs), None))
"""


def test_printing_instead_of_returning_is_named(submit):
    test = failing(judge(133, submit(PRINTS)))
    assert "prints its answer and returns None" in test["diagnosis"]
    assert test["printed"].count("looking for") == 1, "only the output of the call that is shown"


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"pad_to": "def pad_to(bs, sizes): return next((s for s in sizes if s >= bs), -1)"}, "-1 reads as a number"),
        (
            {
                "expected_waste": "def expected_waste(d, s):\n    t = sum(d.values())\n"
                "    return float(sum(n * (pad_to(b, s) - b) for b, n in d.items() if pad_to(b, s)))"
            },
            "rows of all steps together",
        ),
        (
            {
                "expected_waste": "def expected_waste(d, s):\n    t = sum(d.values())\n"
                "    return sum(n * (pad_to(b, s) - b) for b, n in d.items()) / t if t else 0"
            },
            "pad_to says None",
        ),
        (
            {
                "best_sizes": "_r = best_sizes\ndef best_sizes(d, m, k):\n    [d[b] for b in range(1, m + 1)]\n"
                "    return _r(d, m, k)"
            },
            "KeyError",
        ),
        ({"pad_to": "def pad_to(bs, sizes): return 4 if bs else None"}, ""),
        ({"expected_waste": "def expected_waste(d, s): raise OSError('disk')"}, ""),
    ],
)
def test_the_likely_mistake(submit, wrong, says):
    diagnosis = failing(judge(133, submit(**wrong)))["diagnosis"]
    assert says in diagnosis and bool(says) == bool(diagnosis), diagnosis


@pytest.mark.parametrize(
    ("calls", "says"),
    [("pad_to(b, s)", "calls pad_to, which fails its own tests"), ("unknown", "")],
)
def test_a_part_that_calls_a_broken_one_says_where_to_begin(submit, calls, says):
    broken = "def pad_to(bs, sizes): return [][bs]"
    above = f"def helper(d, s):\n    return [{calls} for b in d]\ndef expected_waste(d, s): return helper(d, s)"
    tests = judge(133, submit(pad_to=broken, expected_waste=above))["tests"]
    failed = {t["part"]: t["diagnosis"] for t in tests if t["outcome"] != "passed"}
    assert says in failed["expected_waste"] and bool(says) == bool(failed["expected_waste"])
    assert "begin there" not in failed["pad_to"]


def test_a_control_input_is_reported_as_one(submit):
    """Where only an ordinary input fails, the property of the test is not what is wrong."""
    odd = "def pad_to(bs, sizes):\n    return None if not sizes or bs > sizes[-1] else 0"
    tests = judge(133, submit(odd + "\n"), "--part", "pad_to")["tests"]
    above = next(t for t in tests if t["name"] == "pad_to_above_the_top")
    assert above["rule"] == "Ordinary inputs must be right too."


def test_a_busy_machine_costs_nobody_a_verdict(submit):
    """Three processes compete for each core: a call that computes for 2 s of its 5 s still gets through."""
    import multiprocessing
    import os

    burn = "import time\ndef spend(s):\n    end = time.process_time() + s\n    while time.process_time() < end: pass\n"
    source = burn + "def pad_to(bs, sizes):\n    if bs == 1 and not sizes: spend(2)\n"
    source += "    return next((s for s in sizes if s >= bs), None)\n"
    busy = [multiprocessing.Process(target=_spin, daemon=True) for _ in range(3 * (os.cpu_count() or 1))]
    for process in busy:
        process.start()
    try:
        assert judge(133, submit(source), "--part", "pad_to")["verdict"] == "accepted"
    finally:
        for process in busy:
            process.kill()
            process.join()


def _spin():
    while True:
        pass


@pytest.mark.parametrize("folder", ["/usr/src/app", "/usr"])
def test_a_course_below_a_readable_folder_is_covered(monkeypatch, folder):
    """In many containers the course lies in /usr/src/app, and /usr is shown to every worker."""
    from pathlib import Path

    from grader import layers

    monkeypatch.setattr(layers, "ROOT", Path(folder))
    command = layers.bubblewrap_command(Path("/tmp/stage"), Path("/tmp/scratch"), "none")
    covered = [i for i, word in enumerate(command) if word == "--tmpfs" and command[i + 1] == folder]
    assert covered and covered[0] > max(
        i for i, w in enumerate(command) if w == "--ro-bind-try" and command[i + 1] == "/usr"
    )
    assert "move it elsewhere" in layers.landlock_reason()


@pytest.mark.parametrize(
    ("wrong", "rule"),
    [("sizes.append(1)", "belong to the caller"), ("return {1, 2}", "of a type that can be compared")],
)
def test_a_fault_that_hides_the_property_is_the_rule_that_is_shown(submit, wrong, rule):
    test = failing(judge(133, submit(f"def pad_to(bs, sizes): {wrong}"), "--part", "pad_to"))
    assert rule in test["rule"]


def test_marks_under_a_line_that_is_folded_are_left_out(submit):
    short, long = "x = bs + None", f"x = bs + None  # {'and so on ' * 9}"
    for line, marked in ((short, True), (long, False)):
        shown = run(133, submit(f"def pad_to(bs, sizes):\n    {line}\n"), "--part", "pad_to").stdout
        assert "None" in shown and ("~~~^~~~" in shown) == marked, shown


@pytest.mark.parametrize(
    "source",
    [
        "",
        "pad_to = lambda bs, sizes: 0\nexpected_waste = lambda d, s: 0.0\nbest_sizes = lambda d, m, k: []\n",
        "if True:\n def pad_to(bs, sizes): return 0\n def expected_waste(d, s): return 0.0\n"
        " def best_sizes(d, m, k): return []\n",
    ],
    ids=["empty", "lambdas", "indented"],
)
def test_a_file_in_which_no_line_begins_with_def(submit, source):
    report = judge(133, submit(source))
    assert report["verdict"] in ("error", "wrong answer") and report["passed"] == 0


BIG = "10 ** 5000"  # Python prints no int of more than 4,300 digits


@pytest.mark.parametrize(
    "number, source",
    [
        (133, f"def pad_to(bs, sizes): return {BIG}"),
        (144, f"def best_plan(w, m, b): return {{'full': [{BIG}], 'piecewise': [], 'blocks': {BIG}}}"),
        (141, "class CUDAGraphMode:\n    name = 10 ** 5000\n    def __class_getitem__(cls, k): return cls()\n"
              "def resolve_cudagraph_mode(*a, **k): return CUDAGraphMode()"),
    ],
)  # fmt: skip
def test_a_number_that_python_does_not_print_is_no_answer(submit, number, source):
    part = {133: "pad_to", 144: "best_plan", 141: "resolve_cudagraph_mode"}[number]
    report = judge(number, submit(source), "--part", part)
    assert report["verdict"] in ("wrong answer", "error") and report["passed"] == 0


FORGED = """
import sys
wire = sys.modules['wire']
real = wire.frame
def frame(message):
    return real(FORGE(message))
wire.frame = frame
"""


def test_warnings_and_tracebacks_are_bounded_where_they_arrive(submit):
    """The worker cuts both, and the worker may be the learner's."""
    long = "lambda m: [m[0], 'exc', 'ValueError', chr(1) * 900_000] if m[1] == 'ok' and m[3] else m"
    report = judge(133, submit(solution(forge=FORGED.replace("FORGE", f"({long})"))), "--part", "pad_to")
    assert report["verdict"] == "crashed" and len(str(report)) < 100_000
    many = "lambda m: [*m[:3], [m[3][0], ['ab' * 3000] * 100]] if m[1] == 'ok' and m[3] else m"
    source = solution(forge=FORGED.replace("FORGE", f"({many})")).encode()
    with Session(problems.get(133), source, "mine.py") as session:
        mine = Solution(session)
        assert mine.pad_to(3, [1, 4]) == 4
        assert len(mine.warned) == 20 and {len(text) for text in mine.warned} == {500}
        mine.close()


def test_beside_a_large_wrong_answer_no_other_is_asked_for(submit):
    """All answers of a test are kept for the diagnosis: a thousand large ones would fill the judge's memory."""
    report = judge(133, submit(solution(pad_to="def pad_to(bs, sizes): return [[]] * 100_000")), "--part", "pad_to")
    first = report["tests"][0]
    assert first["outcome"] == "wrong answer" and "inputs fail" not in first["share"]


def test_what_was_not_run_and_what_was_not_imported_is_said_so(submit):
    ran = run(133, submit("def f(*a):\n    while True: pass\npad_to = expected_waste = best_sizes = f"))
    assert "13 of 16 tests not run: 3 tests have run out of time" in ran.stdout
    ran = run(133, submit("def pad_to(:\n"))
    assert "the file cannot be imported" in ran.stdout and "A batch runs in" not in ran.stdout
