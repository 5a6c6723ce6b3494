"""The examples of the statement."""

import oracle
import torch

A = {"dtype": "bfloat16", "port": 8000}
OTHER_PORT = {"dtype": "bfloat16", "port": 9000}


def test_cache_key_examples(check):
    """The examples of the statement."""
    cases = [(A, {"port": 8000, "dtype": "bfloat16"}), (A, OTHER_PORT), (A, OTHER_PORT, ["port"])]
    check.each("same_key", cases, oracle.same_key, scene=True)


def test_compile_once_example(check):
    """One compiled function, and four numbers of rows."""
    script = check.script()
    step = script.scene("step", 2, as_="step")
    backend = script.scene("marking_backend", as_="backend")
    fast = script.make("compile_once", step, backend, compile_sizes=[4], as_="fast")
    w, b = torch.ones(3, 1), torch.zeros(1)
    for rows, code in ((2, None), (7, None), (4, 4), (1, 1)):
        x = torch.ones(rows, 3)
        script.ask(fast, "", x, w, b, want=oracle.step(x, w, b, 2, code))
