"""The example of the statement."""

import oracle


def test_BucketRunner_example(check):
    """The example of the statement: two requests in the graph of size 4, five without a graph."""
    script = check.script()
    step = script.scene("reading_step", 1, as_="step")
    runner = script.make("BucketRunner", step, script.scene("step_buffers", 8, as_="buffers"), [1, 4], as_="runner")
    script.keep(runner, "capture", as_="captured")
    script.ask_scene("change_factor", step, 10, want=None)
    two = [([7], 5, [3, 2], True), ([9], 0, [5], True)]
    script.ask(runner, "run", script.scene("batch_of", two, as_="batch"), want=oracle.read(two, 1, 4))
    five = [([n], 0, [n], True) for n in range(1, 6)]
    script.ask(runner, "run", script.scene("batch_of", five, as_="batch"), want=oracle.read(five, 10, 5))


def test_fill_with_padding_example(check):
    """One row of padding."""
    script = check.script()
    buffers = script.scene("step_buffers", 1, as_="buffers")
    script.ask_scene("use", buffers, script.scene("batch_of", [([7], 5, [3, 2], True)], as_="batch"), want=None)
    inputs = script.scene("view", buffers, 1, as_="inputs")
    script.make("fill_with_padding", inputs, as_="filled")
    want = {"input_ids": [0], "positions": [0], "slot_mapping": [-1], "seq_lens": [0]}
    script.ask_scene("fields", inputs, want=want | {"block_table": [[0] * 5], "logits_indices": [0]})
