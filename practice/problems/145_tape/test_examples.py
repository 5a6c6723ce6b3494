"""The examples of the statement."""

import torch


def test_written_tensors_example(check):
    """`add_` writes its first argument, `add` writes none."""
    script = check.script()
    x, y = (script.scene("hold", torch.ones(2), as_=name) for name in ("x", "y"))
    for name, want in (("add_.Tensor", ["x"]), ("add.Tensor", [])):
        op = script.scene("operator", name, as_=name.split(".")[0])
        found = script.make("written_tensors", op, [x, y], {}, as_="written")
        script.ask_scene("names_of", found, {"x": x, "y": y}, want=want)


def test_run_again_example(check):
    """A recorded sum computes with the numbers of now, into the same memory."""
    script = check.script()
    x, home = (script.scene("hold", torch.zeros(2), as_=name) for name in ("x", "home"))
    call = script.scene("call", "add.Tensor", x, x, homes=[home])
    script.ask_scene("fill", x, 3, want=None)
    script.ask_call("run_again", call, want=None)
    script.ask_scene("read", home, want=torch.tensor([6.0, 6.0]))


def test_Tape_example(check):
    """The example of the statement, with a step that returns its input times 2 plus its second input."""
    script = check.script()
    x, y = (script.scene("hold", torch.ones(2, 2), as_=name) for name in ("x", "y"))
    tape = script.make("Tape", script.scene("pool"))
    output = script.keep(tape, "record", script.scene("step", "chain", number=2), [x, y], as_="output")
    script.ask_scene("fill", x, 5, want=None)
    script.ask(tape, "replay", want=None)
    script.ask_scene("read", output, want=(torch.full((1, 2), 10.0), torch.tensor([22, 22])))
