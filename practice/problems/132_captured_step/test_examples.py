"""The example of the statement."""

import torch


def test_copy_in_example(check):
    """A value is copied into the memory of its buffer."""
    script = check.script()
    buffer = script.scene("hold", torch.zeros(3), as_="buffer")
    memory = script.scene("memory_of", buffer, as_="memory")
    script.ask_call("copy_in", [buffer], [torch.tensor([1.0, 2.0, 3.0])], want=None)
    script.ask_scene("read", memory, want=torch.tensor([1.0, 2.0, 3.0]))


def test_warm_up_example(check):
    """Two runs of a step that adds its second input to its first."""
    script = check.script()
    total = script.scene("hold", torch.zeros(2), as_="total")
    pool = script.scene("pool_for", torch.zeros(2), as_="pool")
    script.ask_call("warm_up", script.scene("adds_in_place", as_="step"), [total, torch.ones(2)], 2, pool, want=None)
    script.ask_scene("read", total, want=torch.tensor([2.0, 2.0]))


def test_CapturedStep_example(check):
    """The example of the statement, with a step that computes 2 * x + 1 * y."""
    script = check.script()
    step = script.scene("weighted_step", scale=2, term=1, as_="step")
    captured = script.make("CapturedStep", step, torch.zeros(3), torch.zeros(3))
    first = script.keep(captured, "", torch.tensor([1.0, 2.0, 3.0]), torch.ones(3), as_="first")
    script.ask(captured, "", torch.zeros(3), torch.ones(3), want=torch.ones(3))
    script.ask_scene("read", first, want=torch.tensor([3.0, 5.0, 7.0]))
    script.refuses(captured, "", torch.ones(3), torch.ones(1), words=["ValueError", "input 1", "[3]", "[1]"])
