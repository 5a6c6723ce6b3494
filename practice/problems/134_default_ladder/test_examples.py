"""The examples of the statement."""

import oracle


def test_default_capture_sizes_examples(check):
    """The examples of the statement."""
    cases = [(10,), (1,), (), (check.keywords(max_num_batched_tokens=100),)]
    check.each("default_capture_sizes", cases, oracle.default_capture_sizes)
