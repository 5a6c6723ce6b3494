"""Hidden tests of problem 133. Inputs are drawn for each run; the docstrings are shown to the learner.

Each test holds inputs that an answer which does nothing (None, 0, []) gets wrong, as `controls` where the property
itself is about None or 0.
"""

import oracle

TOO_SLOW = (
    "the plan may be right, but it is too slow: do not go through dist again for every pair of sizes; "
    "running sums give the cost of a pair in one step"
)


def ladder(rng, top=512):
    """Some ascending sizes."""
    return sorted(rng.sample(range(1, top + 1), rng.randint(1, 20)))


def workload(rng, top, batches, beyond=0):
    """Batch size -> steps, in no order; some above the top, some that never occurred."""
    sizes = rng.sample(range(1, top + 1), min(batches, top)) + [top + rng.randint(1, 50) for _ in range(beyond)]
    rng.shuffle(sizes)
    return {bs: rng.choice((0, 1, 1, 2, 3, 5, 10, 40, 200)) for bs in sizes}


# -- pad_to ---------------------------------------------------------------------------------------------------


def test_pad_to_smallest_that_fits(check, rng):
    """A batch runs in the smallest captured size that is at least as large."""
    cases = [(2, [1, 4]), (5, [1, 2, 4, 8])]
    for _ in range(40):
        sizes = ladder(rng)
        cases.append((rng.randint(1, sizes[-1]), sizes))
    check.each("pad_to", cases, oracle.pad_to)


def test_pad_to_exact_size(check, rng):
    """A batch that is itself a captured size needs no padding."""
    cases = [(1, [1]), (4, [1, 2, 4])]
    for _ in range(20):
        sizes = ladder(rng)
        cases.append((rng.choice(sizes), sizes))
    check.each("pad_to", cases, oracle.pad_to, controls=[(3, [1, 2, 4])])


def test_pad_to_above_the_top(check, rng):
    """Above the largest captured size there is no graph: the answer is None."""
    cases, controls = [(2, [1]), (9, [1, 2, 4, 8])], [(2, [1, 4])]
    for _ in range(10):
        sizes = ladder(rng)
        cases.append((sizes[-1] + rng.randint(1, 9), sizes))
        controls.append((sizes[-1] - rng.randint(0, sizes[-1] - 1), sizes))
    check.each("pad_to", cases, oracle.pad_to, controls=controls)


def test_pad_to_nothing_captured(check, rng):
    """With no captured size at all, the answer is None for every batch."""
    size = rng.randint(3, 512)
    cases = [(1, []), (rng.randint(2, 512), [])]
    check.each("pad_to", cases, oracle.pad_to, controls=[(size - 1, [size])])


# -- expected_waste -----------------------------------------------------------------------------------------------


def test_expected_waste_mean_rows(check, rng):
    """The mean number of padded rows per step, each batch weighted by how often it occurred."""
    cases = [({1: 1, 3: 1}, [4]), ({3: 3, 4: 1}, [4])]
    for _ in range(25):
        sizes = ladder(rng, 64)
        cases.append((workload(rng, sizes[-1], rng.randint(2, 12)) | {sizes[-1]: 1}, sizes))
    check.each("expected_waste", cases, oracle.expected_waste, tolerance=1e-9)


def test_expected_waste_above_the_top(check, rng):
    """A batch above the largest size wastes nothing, but its steps count."""
    cases = [({1: 1, 9: 1}, [2]), ({9: 2}, [4, 8])]
    for _ in range(15):
        sizes = ladder(rng, 64)
        cases.append((workload(rng, sizes[-1], 6, beyond=3) | {1: 2}, sizes))
    check.each("expected_waste", cases, oracle.expected_waste, tolerance=1e-9)


def test_expected_waste_no_steps(check, rng):
    """No steps, no waste: an empty distribution, or counts that are all zero, give 0."""
    cases = [({}, [1, 2, 4]), ({3: 0}, [4]), ({}, []), ({bs: 0 for bs in rng.sample(range(1, 64), 5)}, [8, 64])]
    controls = [({3: rng.randint(1, 9)}, [4])]
    check.each("expected_waste", cases, oracle.expected_waste, controls=controls, tolerance=1e-9)


def test_expected_waste_nothing_captured(check, rng):
    """With nothing captured, no step is padded."""
    cases = [({1: 1}, []), (workload(rng, 64, 6) | {2: 1}, [])]
    controls = [({3: rng.randint(1, 9)}, [4])]
    check.each("expected_waste", cases, oracle.expected_waste, controls=controls, tolerance=1e-9)


# -- best_sizes ---------------------------------------------------------------------------------------------------


def test_best_sizes_small(check, rng):
    """The list with the smallest waste. (Small inputs: every possible list was tried to find it.)"""
    cases = [({1: 1}, 2, 2), ({2: 5, 3: 1}, 4, 2), ({1: 10, 2: 5, 3: 30, 7: 25, 8: 5}, 8, 3)]
    cases.append(({bs: 1 for bs in range(1, 7)}, 6, 3))
    for _ in range(25):
        max_bs = rng.randint(2, 10)
        cases.append((workload(rng, max_bs, rng.randint(1, 8)), max_bs, rng.randint(1, min(max_bs, 5))))
    check.each("best_sizes", cases, oracle.best_sizes_by_trying)


def test_best_sizes_ends_with_max_bs(check, rng):
    """max_bs is always captured, even when no batch that large ever occurred."""
    cases = [({1: 3, 2: 2}, 6, 1), ({1: 3, 2: 2}, 6, 2)]
    for _ in range(10):
        max_bs = rng.randint(6, 10)
        cases.append((workload(rng, max_bs // 2, 4) | {1: 1}, max_bs, rng.randint(1, 3)))
    check.each("best_sizes", cases, oracle.best_sizes_by_trying)


def test_best_sizes_exactly_k(check, rng):
    """Exactly k sizes, even when fewer would waste nothing."""
    cases = [({4: 1}, 4, 2), ({}, 3, 3)]
    for _ in range(10):
        max_bs = rng.randint(4, 9)
        cases.append(({max_bs: 4, rng.randint(1, max_bs): 1}, max_bs, rng.randint(3, min(5, max_bs))))
    check.each("best_sizes", cases, oracle.best_sizes_by_trying)


def test_best_sizes_first_of_equals(check, rng):
    """Of lists with the same waste, the first in dictionary order."""
    cases = [({}, 5, 2), ({1: 1, 2: 1, 3: 1}, 4, 2), ({2: 1, 4: 1, 6: 1}, 7, 2)]
    for _ in range(90):  # many: shares in floating point get a tie wrong only now and then
        max_bs, every = rng.randint(8, 14), rng.randint(1, 2)
        count = rng.choice((3, 7, 10, 11))
        cases.append(({bs: count for bs in range(every, max_bs, every)}, max_bs, rng.randint(3, 5)))
    check.each("best_sizes", cases, oracle.best_sizes)


def test_best_sizes_batches_above_max_bs(check, rng):
    """Batches above max_bs run without a graph: they decide nothing."""
    cases = [({1: 1, 9: 50}, 4, 2)]
    for _ in range(12):
        max_bs = rng.randint(3, 9)
        cases.append((workload(rng, max_bs, 4, beyond=3), max_bs, rng.randint(1, 3)))
    check.each("best_sizes", cases, oracle.best_sizes_by_trying)


def test_best_sizes_another_workload(check, rng):
    """Another workload needs other sizes, with the same max_bs and k."""
    max_bs, k = rng.randint(12, 16), rng.randint(3, 4)
    cases = [(workload(rng, max_bs, 6) | {bs: 99}, max_bs, k) for bs in rng.sample(range(1, max_bs), 6)]
    check.each("best_sizes", cases, oracle.best_sizes)


def test_best_sizes_too_many_lists(check, rng):
    """A ladder of 6 sizes up to 64: millions of lists, so they cannot all be tried."""
    cases = [(workload(rng, 64, 40, beyond=2), 64, 6)]
    check.each("best_sizes", cases, oracle.best_sizes, slow="tries_every_list")


def test_best_sizes_large(check, rng):
    """max_bs up to 256 and k up to 20, within the time of a call."""
    busy = {bs: rng.randint(1, 1000) * 1_000_003 for bs in range(1, 97)}
    cases = [(busy, 96, 20), (workload(rng, 256, 120, beyond=4), 256, 10)]
    check.each("best_sizes", cases, oracle.best_sizes, slow=TOO_SLOW)
