"""The examples of the statement."""

import oracle

SERVER = {"mode": "FULL_AND_PIECEWISE", "sizes": [1, 2, 4, 8, 16, 32], "max_num_seqs": 16}


def test_BatchDescriptor_example(check):
    """The example of the statement."""
    check.each("relaxed", [(4, 4, True, False)], oracle.relaxed, scene=True)


def test_CudagraphDispatcher_examples(check):
    """The table of the statement."""
    cases = [(n, check.keywords(uniform=True, **SERVER)) for n in (1, 3, 16, 17)]
    cases += [(n, check.keywords(**SERVER)) for n in (3, 9, 32, 33)]
    check.each("dispatch", cases, oracle.dispatch, scene=True)


def test_CudagraphDispatcher_example_keys(check):
    """The graphs of the statement's server: six of pieces, five full ones."""
    check.each("keys", [(check.keywords(**SERVER),)], oracle.keys, scene=True)
