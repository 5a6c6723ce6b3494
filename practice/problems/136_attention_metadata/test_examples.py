"""The examples of the statement."""

import oracle


def test_write_rows_example(check):
    """Two values and two rows of padding, over a longer batch."""
    script = check.script()
    array = script.scene("array", [9, 9, 9, 9, 9, 9])
    script.make("write_rows", array, [5, 6], 4, -1, as_="written")
    script.ask_scene("numbers", array, 4, want=[5, 6, -1, -1])


def test_write_tables_example(check):
    """Two requests in a table of three rows."""
    script = check.script()
    table = script.scene("array", [[9, 9, 9] for _ in range(3)], as_="table")
    script.make("write_tables", table, [[4, 7], [2]], 3, as_="written")
    script.ask_scene("numbers", table, 3, want=[[4, 7, 0], [2, 0, 0], [0, 0, 0]])


def test_write_metadata_example(check):
    """A decode and a prompt of three tokens, in a graph of 6 tokens and 4 requests."""
    script = check.script()
    fixed = script.scene("fixed_tensors", 8, 4, 3, as_="fixed")
    arrays = script.scene("arrays_of", fixed, as_="arrays")
    items = [([7], 5, [3, 1], True), ([1, 2, 3], 0, [4], True)]
    script.make("write_metadata", arrays, script.scene("batch_of", items, as_="batch"), 6, 4, as_="written")
    script.ask_scene("metadata", fixed, 6, 4, want=oracle.metadata(items, 6, 4, 3))
