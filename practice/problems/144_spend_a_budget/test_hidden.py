"""Hidden tests of problem 144. Inputs are drawn for each run; the docstrings are shown to the learner.

`best_plan` is judged by the cost of its plan, computed here: anything within 5% of the best is right. Each test draws
inputs for which a plan of a common mistake is far off, so that no such plan passes by luck.
"""

import oracle


def machine(rng, **more):
    """Numbers of the size of those in the statement, another ladder each time."""
    sizes = sorted({1, *rng.sample((2, 3, 4, 6, 8, 12, 16, 24), 3), *rng.sample((32, 48, 64, 96), 2)})
    drawn = {
        "full_ms": rng.randint(8, 20) / 10,
        "piecewise_ms": rng.randint(30, 60) / 10,
        "eager_ms": rng.randint(200, 450) / 10,
        "row_ms": rng.randint(4, 30) / 1000,
        "full_mib": float(rng.randint(8, 24)),
        "piecewise_mib": float(rng.randint(5, 16)),
        "row_mib": rng.randint(2, 10) / 10,
        "block_mib": rng.choice((1.75, 2.5, 3.5)),
        "block_size": rng.choice((8, 16, 32)),
        "sizes": sizes,
    }
    return drawn | more


def demand(rng, requests=(1, 12), prompts=0.4, context=(50, 600)):
    prompt_tokens = rng.randint(5, 60) if rng.random() < prompts else 0
    return rng.randint(*requests), prompt_tokens, rng.randint(*context), rng.randint(1, 40)


def plan(rng, machine, blocks):
    def some():
        return sorted(rng.sample(machine["sizes"], rng.randint(0, 4)))

    return {"full": some(), "piecewise": some(), "blocks": blocks}


def plenty(workload, machine):
    """Blocks for every request of every demand."""
    return oracle.counts(workload, machine)[-1]


# -- plan_memory ----------------------------------------------------------------------------------------------------


def test_plan_memory_graphs_and_blocks(check, rng):
    """Each graph and each block takes its memory, and full graphs take another amount than graphs of pieces."""
    cases = []
    for _ in range(12):
        numbers = machine(rng, row_mib=0.0)
        cases.append((plan(rng, numbers, rng.randint(1, 400)), numbers))
    check.each("plan_memory", cases, oracle.plan_memory, tolerance=1e-9)


def test_plan_memory_pool(check, rng):
    """The pool is as large as the largest graph needs, of either kind, and it is there once."""
    cases = []
    for _ in range(12):
        numbers = machine(rng)
        cases.append((plan(rng, numbers, rng.randint(0, 50)), numbers))
    check.each("plan_memory", cases, oracle.plan_memory, tolerance=1e-9)


def test_plan_memory_without_graphs(check, rng):
    """Without graphs there is no pool: blocks alone count."""
    cases = [({"full": [], "piecewise": [], "blocks": rng.randint(1, 400)}, machine(rng)) for _ in range(4)]
    check.each("plan_memory", cases, oracle.plan_memory, tolerance=1e-9)


# -- plan_cost ------------------------------------------------------------------------------------------------------


def ample(workload, machine):
    """A block more for each request: here it does not matter how they are counted."""
    return plenty(workload, machine) + workload[0][0]


def test_plan_cost_decode_steps(check, rng):
    """A decode step runs in the smallest full graph that holds it; else in pieces, else eagerly."""
    cases = []
    for row_ms in (0.2, 0.4):  # so much padding that another mode would take less time
        numbers = machine(rng, row_ms=row_ms)
        workload = [demand(rng, requests=(1, 2), prompts=0)]
        chosen = {"full": [numbers["sizes"][-1]], "piecewise": numbers["sizes"][:2], "blocks": ample(workload, numbers)}
        cases.append((chosen, workload, numbers))
    for _ in range(15):
        numbers = machine(rng)
        workload = [demand(rng, requests=(1, 60), prompts=0)]
        cases.append((plan(rng, numbers, ample(workload, numbers)), workload, numbers))
    check.each("plan_cost", cases, oracle.plan_cost, tolerance=1e-9)


def test_plan_cost_steps_with_prompts(check, rng):
    """A step with prompt tokens has those rows too; it never runs in a full graph."""
    cases = []
    for _ in range(15):
        numbers = machine(rng)
        workload = [demand(rng, prompts=1)]
        cases.append((plan(rng, numbers, ample(workload, numbers)), workload, numbers))
    check.each("plan_cost", cases, oracle.plan_cost, tolerance=1e-9)


def test_plan_cost_eager_steps(check, rng):
    """A step that no graph holds runs eagerly, with no row more than it has."""
    cases = []
    for _ in range(8):
        numbers = machine(rng)
        workload = [demand(rng, requests=(97, 200), prompts=0.5)]
        cases.append((plan(rng, numbers, ample(workload, numbers)), workload, numbers))
    check.each("plan_cost", cases, oracle.plan_cost, tolerance=1e-9)


def test_plan_cost_blocks_bound_the_requests(check, rng):
    """Requests share no block and leave block 0 free: those that run are as many as fit, and each gives a token."""
    cases = []
    for i in range(18):
        numbers = machine(rng)
        workload = [demand(rng, requests=(4, 60))]
        if i > 14:  # the last block of each request is full
            workload = [(workload[0][0], workload[0][1], numbers["block_size"] * rng.randint(3, 12), 1)]
        each = oracle.counts(workload, numbers)
        more = -1 if i < 5 else rng.choice((-1, 0, 0, 1)) if i < 15 else 0
        blocks = each[rng.randrange(1, len(each))] + more
        cases.append((plan(rng, numbers, blocks), workload, numbers))
    check.each("plan_cost", cases, oracle.plan_cost, tolerance=1e-9)


def test_plan_cost_weights(check, rng):
    """The mean over all tokens generated: demands count by their weight."""
    cases = []
    for _ in range(10):
        numbers = machine(rng)
        workload = [demand(rng) for _ in range(rng.randint(2, 4))]
        cases.append((plan(rng, numbers, plenty(workload, numbers)), workload, numbers))
    check.each("plan_cost", cases, oracle.plan_cost, tolerance=1e-9)


def test_plan_cost_refuses_what_cannot_run(check, rng):
    """A demand of which not one request can run is refused with an error that names its context."""
    script = check.script()
    for _ in range(3):
        numbers = machine(rng)
        workload = [demand(rng, context=(200, 400)), demand(rng, context=(20, 100))]
        least = max(oracle.counts([(1, *rest)], numbers)[0] for _, *rest in workload)
        chosen = plan(rng, numbers, least)
        want = oracle.plan_cost(chosen, workload, numbers)
        script.ask_call("plan_cost", chosen, workload, numbers, want=want, tolerance=1e-9)
        short = chosen | {"blocks": least - 1}
        script.refuses(None, "plan_cost", short, workload, numbers, words=[str(workload[0][2])])


# -- best_plan ------------------------------------------------------------------------------------------------------


def drawn(rng, number, make, *mistakes, tight=False):
    """Cases whose best plan is more than 12% better than the plans of these mistakes; `tight`: for a graph or two."""
    cases = []
    while len(cases) < number:
        workload, numbers = make()
        least = max(oracle.counts([(1, *rest)], numbers)[0] for _, *rest in workload) * numbers["block_mib"]
        most = plenty(workload, numbers) * numbers["block_mib"]
        budget = float(round(rng.uniform(least + 60, least + 90 if tight else max(0.6 * most, least + 240))))
        best = oracle.best(workload, numbers, budget)[0]
        plans = [mistake(workload, numbers, budget) for mistake in mistakes]
        if all(p is None or oracle.plan_cost(p, workload, numbers) > 1.12 * best for p in plans):
            cases.append((workload, numbers, budget))
    return cases


def ask(check, cases):
    check.each("best_plan", cases, oracle.best_plan, accept=oracle.judge_plan)


def test_best_plan_one_demand(check, rng):
    """For one kind of decode step, one full graph of the right size, and blocks for what it holds."""

    def make():
        return [demand(rng, prompts=0)], machine(rng)

    workload, numbers = make()  # and once with memory for everything
    rich = float(round(plenty(workload, numbers) * numbers["block_mib"] + 10 * numbers["full_mib"] + 200))
    cases = drawn(rng, 3, make, oracle.graphs_first) + drawn(rng, 2, make, oracle.graphs_first, tight=True)
    cheap = machine(rng)  # and once with a block for each request, all of which run
    cases.append(([(rng.randint(5, 12), 0, rng.randint(1, cheap["block_size"]), 10)], cheap, 120.0))
    ask(check, [*cases, (workload, numbers, rich)])


def test_best_plan_prompts(check, rng):
    """Steps with prompts need graphs of pieces: where they are frequent, some of the memory goes there."""

    def make():
        return [demand(rng, prompts=0), demand(rng, prompts=1)], machine(rng)

    ask(check, drawn(rng, 4, make, oracle.full_only, oracle.piecewise_only))


def test_best_plan_more_requests_or_more_graphs(check, rng):
    """Neither all blocks first nor all graphs first: what a MiB saves decides."""

    def make():
        workload = [demand(rng, requests=(3, 8)), demand(rng, requests=(8, 14), context=(300, 900)), demand(rng)]
        return workload, machine(rng)

    ask(check, drawn(rng, 3, make, oracle.graphs_first, oracle.blocks_first))


def test_best_plan_sizes_for_what_runs(check, rng):
    """Where blocks let fewer requests run than want to, the sizes fit those that run."""

    def make():
        workload = [(rng.randint(10, 14), 0, rng.randint(400, 900), 10) for _ in range(2)]
        return workload, machine(rng, row_ms=rng.randint(20, 60) / 1000)

    ask(check, drawn(rng, 4, make, oracle.for_what_is_asked))


def test_best_plan_weights(check, rng):
    """The demand that generates most tokens decides most."""

    def make():
        workload = [(*demand(rng, prompts=p)[:3], weight) for p, weight in ((0, 1), (1, 90), (0, 1))]
        rng.shuffle(workload)
        return workload, machine(rng)

    ask(check, drawn(rng, 4, make, oracle.for_equal_weights, tight=True))


def test_best_plan_tokens_not_steps(check, rng):
    """The time per token counts: a step of many requests takes longer, and is worth it."""

    def make():
        return [demand(rng, requests=(6, 12), prompts=0.3) for _ in range(3)], machine(rng)

    ask(check, drawn(rng, 3, make, oracle.for_short_steps))


def test_best_plan_leaves_memory(check, rng):
    """More blocks can be worse, since every request that fits runs: memory for one that gains nothing is left."""
    cases = []
    for _ in range(3):
        fits = rng.choice((6, 8))
        numbers = machine(rng, sizes=[1, 2, fits, 24, 32, 64], full_ms=1.0, row_ms=rng.randint(60, 100) / 1000)
        workload = [(fits + rng.randint(1, 2), 0, rng.randint(150, 400), rng.randint(1, 40))]
        most = plenty(workload, numbers) * numbers["block_mib"]  # and memory for all graphs
        all_graphs = 6 * (numbers["full_mib"] + numbers["piecewise_mib"]) + 64 * numbers["row_mib"]
        cases.append((workload, numbers, float(round(most + all_graphs + 50))))

    def make():
        return [demand(rng, requests=(3, 8)), demand(rng, requests=(8, 14), context=(300, 900))], machine(rng)

    ask(check, cases + drawn(rng, 1, make, oracle.blocks_first, tight=True))


def test_best_plan_large(check, rng):
    """Eight sizes, four demands of up to 24 requests, within the time of a call."""

    def make():
        workload = [demand(rng, requests=(12, 24), prompts=p, context=(100, 500)) for p in (0, 0, 1, 0.5)]
        return workload, machine(rng, sizes=[1, 2, 4, 8, 12, 16, 24, 64])

    ask(check, drawn(rng, 1, make, oracle.graphs_first))
