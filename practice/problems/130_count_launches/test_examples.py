"""The examples of the statement."""

import oracle
import torch


def test_launching_calls_examples(check):
    """The example of the statement."""
    histogram = {"aten::linear": 2, "aten::view": 5, "aten::tril": 1}
    check.each("launching_calls", [(histogram,)], oracle.launching_calls)


def test_top_level_operators_examples(check):
    """The example of the statement."""
    events = [
        ("aten::t", 1, 11.0, 12.0),
        ("aten::linear", 1, 10.0, 20.0),
        ("aten::add", 1, 20.0, 23.0),
        ("cudaLaunchKernel", 1, 21.0, 23.0),
        ("aten::add", 2, 11.0, 15.0),
    ]
    check.each("top_level_operators", [(events,)], oracle.top_level_operators)


def test_count_operators_examples(check):
    """A step that calls linear once and add twice; linear's own calls are not counted."""
    script = check.script()
    step = script.scene("step", ["linear", "add", "add"])
    count = script.make("count_operators", step, torch.ones(4, 4), as_="count")
    script.ask_scene("histogram", count, want={"aten::linear": 1, "aten::add": 2})
