"""Hidden tests of problem 139. Inputs are drawn for each run; the docstrings are shown to the learner.

Answers in float16 are compared exactly, so rows are drawn until no number of theirs lies where the last digit of an
fp32 sum decides how it rounds. Triton's interpreter cuts bfloat16 where a GPU rounds: there each rounding may be off by
one step. Gains are 1 where the property is about something else.
"""

import oracle
import torch

BF16, FP16, FP32 = torch.bfloat16, torch.float16, torch.float32


def numbers(rng, count, scale=1.0, centre=0.0):
    return [rng.gauss(centre, scale) for _ in range(count)]


def rows(rng, hidden, dtype=FP16, eps=1e-6, scale=1.0, centre=0.0, count=2):
    found = []
    while len(found) < count:
        row = torch.tensor(numbers(rng, hidden, scale, centre)).to(dtype)
        if oracle.is_clear(row.tolist(), eps, dtype):
            found.append(row)
    return torch.stack(found)


def ones(hidden, dtype=FP16):
    return torch.ones(hidden, dtype=dtype)


def allowed(want, dtype, roundings):
    """How far an answer of this dtype may be off."""
    step = {FP32: 2**-20, FP16: 0.0, BF16: roundings * 2**-7}[dtype]
    return step * want.abs().max().item() or None


def ask_added(check, x, delta):
    want = oracle.added(x, delta)
    check.script().ask_scene("added", x, delta, want=want, tolerance=allowed(want, x.dtype, 1))


def ask_normed(check, x, gain, eps=1e-6):
    want = oracle.normed(x, gain, eps)
    check.script().ask_scene("normed", x, gain, eps, want=want, tolerance=allowed(want, x.dtype, 2))


# -- added --------------------------------------------------------------------------------------------------------


def test_added_rounds_once(check, rng):
    """Two rows are added in fp32, and the sum is rounded to their dtype, here float16."""
    for hidden in (4, 6, 100):
        ask_added(check, *(torch.tensor([numbers(rng, hidden, 2.0), numbers(rng, hidden, 2.0)]).to(FP16) for _ in "xd"))


def test_added_in_bfloat16(check, rng):
    """Rows of bfloat16, as models have them: converted to fp32, added, converted back."""
    for hidden in (4, 7, 64):
        ask_added(check, *(torch.tensor([numbers(rng, hidden, 2.0)]).to(BF16) for _ in "xd"))


def test_added_in_the_dtype_of_x(check, rng):
    """The sum has the dtype of x: float32 keeps more digits than float16, float16 more than bfloat16."""
    for dtype in (FP32, FP16, BF16):
        ask_added(check, *(torch.tensor([numbers(rng, 6, 30.0)]).to(dtype) for _ in "xd"))


# -- normed -------------------------------------------------------------------------------------------------------


def test_normed_by_the_root_of_the_mean_square(check, rng):
    """A row is divided by the root of the mean of its squares, and rounded to its dtype."""
    for hidden in (4, 8, 32):
        centre = rng.choice((-2.0, 2.0))  # so that the mean is not near 0
        ask_normed(check, rows(rng, hidden, scale=rng.uniform(2, 5), centre=centre), ones(hidden))


def test_normed_rows_of_any_length(check, rng):
    """The mean is over the numbers of the row, whose length may be no power of two."""
    for hidden in (3, rng.randint(5, 7), rng.randint(65, 90)):
        ask_normed(check, rows(rng, hidden, scale=3.0), ones(hidden))


def test_normed_with_eps(check, rng):
    """eps is added to the mean, under the root: a row of zeros stays 0, and tiny rows grow less."""
    eps = rng.choice((1e-4, 1e-3))
    for hidden in (4, 12, 60):
        x = rows(rng, hidden, eps=eps, scale=eps**0.5)
        ask_normed(check, torch.cat((x, torch.zeros(1, hidden, dtype=FP16))), ones(hidden), eps)


def test_normed_rounds_before_gain(check, rng):
    """The row is rounded to its dtype first, then multiplied by gain, and rounded again."""
    for hidden in (6, 24, 80):
        gain = torch.tensor(numbers(rng, hidden, 0.5, 1.0)).to(FP16)
        ask_normed(check, rows(rng, hidden, scale=2.0), gain)


def test_normed_statistics_in_fp32(check, rng):
    """The squares are taken in fp32: in float16 they would overflow."""
    for hidden in (4, 20):
        ask_normed(check, rows(rng, hidden, scale=rng.uniform(800, 3000)), ones(hidden))


def test_normed_in_bfloat16(check, rng):
    """Rows of bfloat16, as models have them."""
    for hidden in (4, 7, 64):
        gain = torch.tensor(numbers(rng, hidden, 0.3, 1.0)).to(BF16)
        ask_normed(check, rows(rng, hidden, BF16, scale=2.0), gain)


def test_normed_in_the_dtype_of_x(check, rng):
    """The result has the dtype of x: float32 keeps more digits than float16."""
    for dtype in (FP32, FP16):
        for hidden in (4, 30):
            gain = torch.tensor(numbers(rng, hidden, 0.3, 1.0)).to(dtype)
            ask_normed(check, rows(rng, hidden, dtype, scale=2.0), gain)
