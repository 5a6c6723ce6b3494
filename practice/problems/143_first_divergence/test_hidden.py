"""Hidden tests of problem 143. Inputs are drawn for each run; the docstrings are shown to the learner.

The layers come from a tiny model that ran on the judge's side, with a fault planted (oracle.Server). What differs does
so by far, so that no verdict hangs on the order of a sum; at the limit itself the numbers are exact. Nothing here can
be frozen, cached or replayed: plain functions of their inputs, with other inputs in each call.
"""

import oracle
import torch

HALF, FULL = torch.bfloat16, torch.float32


def numbers(rng, rows, hidden, dtype=FULL, scale=1.0):
    return torch.tensor([[scale * rng.uniform(-1, 1) for _ in range(hidden)] for _ in range(rows)]).to(dtype)


def disturbed(rng, layer, rows, by):
    """A copy with one number of each of `rows` moved by `by` times what counts as rounding there."""
    layer, eps = layer.clone(), torch.finfo(layer.dtype).eps
    for row in rows:
        at = rng.randrange(layer.shape[1])
        layer[row, at] += by * 16 * eps * layer[row].abs().max() * rng.choice((-1, 1))
    return layer


# -- diverging_rows -------------------------------------------------------------------------------------------------


def test_diverging_rows_beyond_rounding(check, rng):
    """A row differs when one of its numbers does, by more than 16 eps of the row's largest number."""
    cases = []
    for scale, hidden, by in ((1, 6, 3), (100, 5, 3), (1, 24, 8), (100, 9, 3), (0.01, 32, 8)):
        reference = numbers(rng, rng.randint(3, 6), hidden, scale=scale)
        far = sorted(rng.sample(range(len(reference)), 2))
        near = disturbed(rng, reference, range(len(reference)), 0.3)
        cases.append((reference, disturbed(rng, near, far, by)))
    check.each("diverging_rows", cases, oracle.diverging_rows)


def test_diverging_rows_depends_on_the_dtype(check, rng):
    """What is far in float32 may be rounding in bfloat16; of two dtypes the coarser decides."""
    cases = []
    for coarse, eps in ((HALF, 2.0**-7), (torch.float16, 2.0**-10)):
        for reference_dtype, other_dtype in ((FULL, FULL), (coarse, coarse), (FULL, coarse), (coarse, FULL)):
            reference = numbers(rng, 4, 6, coarse).float()  # no number is lost in the cast
            other, far = reference.clone(), rng.randrange(4)
            other[:, 0] += 4 * eps * reference.abs().amax(dim=1)
            other[far, 1] += 100 * eps * reference[far].abs().max()
            cases.append((reference.to(reference_dtype), other.to(other_dtype)))
    check.each("diverging_rows", cases, oracle.diverging_rows)


def test_diverging_rows_by_the_size_of_the_row(check, rng):
    """A row of large numbers may differ by more than a row of small ones: each row has its own limit."""
    cases = []
    for i in range(5):
        rows = [numbers(rng, 1, 5, scale=10.0 ** rng.randint(-3, 4)) for _ in range(5)]
        reference, largest = torch.cat(rows), rng.randrange(5)
        reference[largest] *= 1e6
        far = rng.sample([row for row in range(5) if row != largest], 2) + [largest] * (i % 2)
        cases.append((reference, disturbed(rng, disturbed(rng, reference, range(5), 0.3), far, 3)))
    check.each("diverging_rows", cases, oracle.diverging_rows)


def test_diverging_rows_without_padding(check, rng):
    """Rows of `other` behind those of the reference are padding: they are not compared, whatever is in them."""
    cases = []
    for _ in range(5):
        reference = numbers(rng, rng.randint(2, 5), 6)
        far = [rng.randrange(len(reference))]
        padding = numbers(rng, rng.randint(1, 4), 6, scale=100)
        padding[0, rng.randrange(6)] = float("nan")
        cases.append((reference, torch.cat([disturbed(rng, reference, far, 3), padding])))
    check.each("diverging_rows", cases, oracle.diverging_rows)


def test_diverging_rows_nan(check, rng):
    """A row with nan or infinity in it differs."""
    cases = []
    for bad in (float("nan"), float("inf"), float("nan"), float("-inf")):
        reference = numbers(rng, 4, 5)
        other = disturbed(rng, reference, range(4), 0.2)
        other[rng.randrange(4), rng.randrange(5)] = bad
        cases.append((reference, other))
    check.each("diverging_rows", cases, oracle.diverging_rows)


def test_diverging_rows_at_the_limit(check, rng):
    """What is exactly 16 eps · m is rounding, and what is a bit more is not: no step of the comparison may round."""
    cases = []
    for dtype in (HALF, FULL, HALF, FULL):
        size, eps = 2.0 ** rng.randint(-4, 4), torch.finfo(dtype).eps
        limit = 16 * eps * size  # powers of two all: float64 computes with them exactly, the dtype itself does not
        reference = numbers(rng, 4, 4, dtype, 0.4 * size)
        reference[:, 0], reference[:, 1] = size * rng.choice((-1, 1)), torch.tensor([0.0, limit * eps / 2, 0.0, 0.0])
        other = reference.clone()
        other[:2, 1] = -limit  # the first row at the limit, the second beyond it by half of what the dtype tells apart
        other[2, 0] *= 1 + 17 * eps  # the largest number itself: m is that of the reference
        order = rng.sample(range(4), 4)
        cases.append((reference[order], other[order]))
    check.each("diverging_rows", cases, oracle.diverging_rows)


# -- first_divergence -----------------------------------------------------------------------------------------------


def test_first_divergence_of_a_planted_fault(check, rng):
    """The first layer that differs beyond rounding, of all those that do after a fault."""
    server, half = oracle.Server(rng), oracle.Server(rng, HALF)
    cases = [server.case(rng, fault)[:2] for fault in ("stale early", "padding", "padding", "stale all last")]
    cases += [half.case(rng, "stale")[:2] for _ in range(2)]
    layers = [numbers(rng, 3, 6) for _ in range(5)]
    by = (0.2, 3, 500, 50, 3)  # the layer that differs most is neither the first nor the last
    cases.append((layers, [disturbed(rng, layer, [1], far) for layer, far in zip(layers, by, strict=True)]))
    check.each("first_divergence", cases, oracle.first_divergence)


def test_first_divergence_none(check, rng):
    """Two engines that differ by rounding only do not diverge: the answer is None."""
    server, half = oracle.Server(rng), oracle.Server(rng, HALF)
    cases = [server.case(rng)[:2], half.case(rng)[:2], half.case(rng, mixed=True)[:2]]
    cases.append((cases[0][0], [each.clone() for each in cases[0][0]]))
    controls = [server.case(rng, "stale")[:2] for _ in range(2)]
    check.each("first_divergence", cases, oracle.first_divergence, controls=controls)


def test_first_divergence_that_heals(check, rng):
    """One row of one layer is enough, also when later layers agree again, or when a later one is further off."""
    cases = []
    for _ in range(5):
        layers = [numbers(rng, 4, 6, scale=2.0**i) for i in range(5)]
        first = rng.randrange(4)
        other = [disturbed(rng, each, range(4), 0.2) for each in layers]
        other[first] = disturbed(rng, other[first], [rng.randrange(4)], 3)
        other[4] = disturbed(rng, other[4], range(4), rng.choice((0, 50)))
        cases.append((layers, other))
    check.each("first_divergence", cases, oracle.first_divergence)


# -- name_cause -----------------------------------------------------------------------------------------------------


def test_name_cause_no_fault(check, rng):
    """Without a divergence the answer is 'same' when no number differs, and 'rounding' otherwise."""
    server, half, exact = oracle.Server(rng), oracle.Server(rng, HALF), oracle.Server(rng, rounding=False)
    cases = [half.case(rng), server.case(rng, mixed=True), exact.case(rng), exact.case(rng, mixed=True)]
    check.each("name_cause", cases, oracle.name_cause)


def test_name_cause_stale_buffer(check, rng):
    """Every row that differs in the first layer that does is the same row of the step before, to the last bit."""
    server, half = oracle.Server(rng), oracle.Server(rng, HALF)
    faults = ("stale first", "stale early", "stale last", "stale all early", "stale all last")
    cases = [server.case(rng, fault, mixed) for fault in faults for mixed in (False, True)]
    cases += [half.case(rng, "stale"), half.case(rng, "stale all")]
    check.each("name_cause", cases, oracle.name_cause)


def test_name_cause_padding(check, rng):
    """Every row that differs belongs to a request that has a block into which a row of padding wrote."""
    server = oracle.Server(rng)
    cases = [server.case(rng, fault, mixed) for fault in ("padding", "padding two") for mixed in (False, True, True)]
    cases.append(server.case(rng, "padding oldest"))
    check.each("name_cause", cases, oracle.name_cause)


def test_name_cause_not_stale(check, rng):
    """Not stale: some rows of the step before among others, rows that only come close to it, or that moved."""
    server = oracle.Server(rng)
    cases = [server.case(rng, fault) for fault in ("stale partly", "stale nearly", "stale shifted")]
    check.each("name_cause", cases, oracle.name_cause, controls=[server.case(rng, "stale")])


def test_name_cause_not_padding(check, rng):
    """Not padding: it wrote to the null block, to nobody's block, or to a request whose rows are right."""
    server = oracle.Server(rng)
    faults = ("position", "position free", "position elsewhere", "padding and", "position")
    cases = [server.case(rng, fault, mixed=i % 2 == 1) for i, fault in enumerate(faults)]
    check.each("name_cause", cases, oracle.name_cause, controls=[server.case(rng, "padding")])
