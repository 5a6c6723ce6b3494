"""The example of the statement: three pieces, of which the second runs anew each time."""

import torch

PIECES = [
    {"inputs": ["x"], "outputs": ["q"], "last_uses": [], "factor": 2},
    {"inputs": ["q"], "outputs": ["a"], "last_uses": ["q"], "factor": None, "splits": True},
    {"inputs": ["a", "x"], "outputs": ["z"], "last_uses": ["a"], "factor": 1},
]


def test_run_pieces_example(check):
    """The example of the statement."""
    script = check.script()
    pieces = script.scene("pieces", PIECES, as_="pieces")
    script.ask_scene("set_factors", pieces, [2, 10, 1], want=None)
    values = script.scene("values", x=torch.tensor([1.0, 2.0]), as_="values")
    want = [["x", "z"], [torch.tensor([22.0, 44.0])]]
    script.ask_scene("run_and_read", pieces, values, "z", want=want)


def test_CapturedPieces_example(check):
    """The example of the statement."""
    script = check.script()
    pieces = script.scene("pieces", PIECES, as_="pieces")
    values = script.scene("values", x=torch.tensor([1.0, 2.0]), as_="values")
    captured = script.make("CapturedPieces", pieces, values)
    script.ask_scene("set_factors", pieces, [7, 10, 7], want=None)
    script.ask_scene("replay_and_read", captured, "z", want=[["x", "z"], [torch.tensor([22.0, 44.0])]])
    script.ask_scene("write", values, x=torch.tensor([3.0, 4.0]), want=None)
    script.ask_scene("replay_and_read", captured, "z", want=[["x", "z"], [torch.tensor([66.0, 88.0])]])
