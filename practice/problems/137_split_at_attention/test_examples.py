"""The examples of the statement."""

import oracle
import torch

CALLS = [
    ("a", "mul", ["x", "w"]),
    ("b", "add", ["a", "x"]),
    ("c", "attention", ["b"]),
    ("d", "add", ["c", "a"]),
]


def test_piece_numbers_example(check):
    """The example of the statement."""
    check.each("piece_numbers", [(CALLS, "attention")], oracle.piece_numbers)


def test_crossing_values_example(check):
    """The example of the statement."""
    check.each("crossing_values", [(CALLS, [0, 0, 1, 2], ["d"])], oracle.crossing_values)


def test_last_uses_example(check):
    """The example of the statement."""
    crossing = [(["x", "w"], ["a", "b"]), (["b"], ["c"]), (["c", "a"], ["d"])]
    check.each("last_uses", [(crossing, ["d"])], oracle.last_uses)


def test_split_at_example(check):
    """The step of the statement, split and run."""
    lines = ["a = mul(x, w)", "b = add(a, x)", "c = attention(b, b)", "d = add(c, a)"]
    weights = {"w": torch.tensor([1.0, 2.0, 3.0])}
    values = {"x": torch.tensor([1.0, 1.0, 2.0]), "y": torch.zeros(3)}
    script = check.script()
    step = script.scene("traced_step", lines, inputs=["x", "y"], returns=["d"], weights=weights, as_="step")
    for what, want in oracle.pieces(lines, {"x", "y", "w"}, ["d"]).items():
        script.ask_scene("of_each_piece", step, what, want=want)
    script.ask_scene("run_in_pieces", step, values, want=oracle.run(lines, values | weights, ["d"]))
