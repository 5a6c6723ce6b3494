"""The examples of the statement."""

import oracle

DIST = {1: 10, 2: 5, 3: 30, 7: 25, 8: 5}


def test_pad_to_examples(check):
    """The examples of the statement: 3 runs as 4, and 9 has no graph."""
    check.each("pad_to", [(3, [1, 2, 4, 8]), (9, [1, 2, 4, 8])], oracle.pad_to)


def test_expected_waste_example(check):
    """The example of the statement."""
    check.each("expected_waste", [(DIST, [4, 8])], oracle.expected_waste, tolerance=1e-9)


def test_best_sizes_example(check):
    """The example of the statement."""
    check.each("best_sizes", [(DIST, 8, 3)], oracle.best_sizes_by_trying)
