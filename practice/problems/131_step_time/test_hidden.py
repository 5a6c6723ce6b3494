"""Hidden tests of problem 131. Inputs are drawn for each run; the docstrings are shown to the learner.

A step is drawn by the times of its three terms, so that each test can say which of them is the largest.
"""

import oracle


def step(rng, cpu, per_kernel, reading):
    """A step with about these three times in ms: all arguments of `step_time`, as keywords."""
    launches, kernels, gb = rng.randint(20, 3000), rng.randint(20, 3000), rng.randint(1, 60)
    return {
        "launches": launches,
        "kernels": kernels,
        "nbytes": gb * 10**8,
        "launch_ms": round(cpu / launches, 9),
        "kernel_ms": round(per_kernel / kernels, 9),
        "bytes_per_ms": round(gb * 10**8 / reading),
    }


def launch_bound(rng):
    gpu = rng.uniform(1, 4), rng.uniform(1, 4)
    return step(rng, sum(gpu) * rng.uniform(1.5, 6), *gpu)


def kernel_bound(rng):
    reading = rng.uniform(0.5, 3)
    per_kernel = reading * rng.uniform(1.3, 5)
    return step(rng, (per_kernel + reading) * rng.uniform(0.01, 0.4), per_kernel, reading)


def byte_bound(rng):
    per_kernel = rng.uniform(0.5, 3)
    reading = per_kernel * rng.uniform(1.3, 5)
    return step(rng, (per_kernel + reading) * rng.uniform(0.01, 0.4), per_kernel, reading)


def few_bytes(rng):
    """Fewer bytes than kernels, and a memory so slow that reading them takes longer."""
    few = rng.randint(20, 90)
    slow = {"nbytes": few, "bytes_per_ms": few / rng.uniform(2, 4), "launch_ms": 0.001, "kernel_ms": 0.001}
    return {"launches": 1, "kernels": few + rng.randint(9, 99)} | slow


def together(rng):
    """The CPU's time lies between the larger of the GPU's two terms and their sum."""
    small = rng.uniform(1, 3)
    large = small * rng.uniform(1.2, 1.8)
    cpu = large + small * rng.uniform(0.2, 0.8)
    return step(rng, cpu, *((small, large) if rng.random() < 0.5 else (large, small)))


def ask(check, name, steps, tolerance=None, controls=()):
    cases = [(check.keywords(**given),) for given in steps]
    beside = [(check.keywords(**given),) for given in controls]
    check.each(name, cases, getattr(oracle, name), tolerance=tolerance, controls=beside)


# -- step_time ----------------------------------------------------------------------------------------------------


def test_step_time_of_the_cpu(check, rng):
    """When launching takes longer than all that the GPU does, it is the step's time."""
    ask(check, "step_time", [launch_bound(rng) for _ in range(10)], 1e-9)


def test_step_time_of_the_gpu(check, rng):
    """Otherwise the GPU's time is: its kernels' fixed time and the time to read the bytes, one after the other."""
    ask(check, "step_time", [f(rng) for f in (kernel_bound, byte_bound) for _ in range(6)], 1e-9)


def test_step_time_of_the_slower_one(check, rng):
    """The CPU and the GPU work at the same time; the GPU's two terms count together."""
    ask(check, "step_time", [together(rng) for _ in range(10)], 1e-9)


# -- bound_by -----------------------------------------------------------------------------------------------------


def test_bound_by_launches(check, rng):
    """A step whose launches take longer than all that the GPU does is bound by launches."""
    controls = [kernel_bound(rng), byte_bound(rng), few_bytes(rng)]
    ask(check, "bound_by", [launch_bound(rng) for _ in range(10)], controls=controls)


def test_bound_by_kernels_or_bytes(check, rng):
    """When the GPU takes longer than the CPU, the larger of its two terms bounds the step."""
    steps = [f(rng) for f in (kernel_bound, byte_bound) for _ in range(8)]
    ask(check, "bound_by", [*steps, few_bytes(rng)])


def test_bound_by_the_gpu_as_a_whole(check, rng):
    """The CPU's time is compared with the GPU's two terms together, not with each of them."""
    ask(check, "bound_by", [together(rng) for _ in range(12)], controls=[launch_bound(rng), few_bytes(rng)])


# -- fit_times ----------------------------------------------------------------------------------------------------


def measured(rng, on_cpu, on_gpu, noise, odd=False):
    """(runs, bytes_per_ms): so many runs of each kind, in no order; each time is off by up to the share `noise`.

    The launches show the kind, if not `odd`: then the CPU sets the pace of few launches, the GPU that of many.
    """
    launch_ms, kernel_ms, bytes_per_ms = rng.uniform(0.004, 0.04), rng.uniform(0.001, 0.004), rng.randint(1, 8) * 10**9
    runs = []
    for kind in ["cpu"] * on_cpu + ["gpu"] * on_gpu:
        kernels, nbytes = rng.randint(200, 2500), rng.randint(5, 90) * 10**8
        many = (kind == "cpu") != odd
        launches = kernels + rng.randint(0 if odd else 1, 400) if many else rng.randint(3 if odd else 1, 30)
        gpu_ms = kernels * kernel_ms + nbytes / bytes_per_ms
        ms = (launches * launch_ms if kind == "cpu" else gpu_ms) * (1 + rng.uniform(-noise, noise))
        waits = rng.uniform(0.51, 0.99) if kind == "cpu" else rng.uniform(0, 0.49)
        run = {"launches": launches, "kernels": kernels, "bytes": nbytes, "ms": round(ms, 6)}
        runs.append(run | {"gpu_waits": round(waits, 3)})
    rng.shuffle(runs)
    return runs, bytes_per_ms


def test_fit_times_of_two_runs(check, rng):
    """One run of each kind is enough: the first gives the time of a launch, the other the time of a kernel."""
    check.each("fit_times", [measured(rng, 1, 1, 0) for _ in range(8)], oracle.fit_times, tolerance=1e-9)


def test_fit_times_launch_by_least_squares(check, rng):
    """Runs that the CPU set the pace of: the launch time with the smallest sum of squared errors."""
    check.each(
        "fit_times", [measured(rng, rng.randint(2, 5), 1, 0.3) for _ in range(8)], oracle.fit_times, tolerance=1e-9
    )


def test_fit_times_kernel_by_least_squares(check, rng):
    """Runs that the GPU set the pace of: the kernel time with the smallest sum of squared errors."""
    check.each(
        "fit_times", [measured(rng, 1, rng.randint(2, 5), 0.3) for _ in range(8)], oracle.fit_times, tolerance=1e-9
    )


def test_fit_times_half_of_the_time(check, rng):
    """`gpu_waits` alone tells the kind: above a half the CPU set the pace, at exactly a half and below the GPU did."""
    cases = [measured(rng, 2, 2, 0.3, odd=True) for _ in range(3)]
    for i in range(6):
        runs, bytes_per_ms = measured(rng, 2, 2, 0.3, odd=i % 3 == 2)
        next(run for run in runs if run["gpu_waits"] < 0.5)["gpu_waits"] = 0.5
        cases.append((runs, bytes_per_ms))
    check.each("fit_times", cases, oracle.fit_times, tolerance=1e-9)


def test_fit_times_without_a_kind(check, rng):
    """Runs of one kind say nothing about the other: the error names the time that they do not show."""
    script = check.script()
    several, one = measured(rng, 2, 3, 0.1), measured(rng, 1, 1, 0)
    for on_cpu, on_gpu, word, other in ((0, 3, "launch", "kernel"), (3, 0, "kernel", "launch")):
        asked = {"words": [word], "error": "ValueError", "any_case": True, "instead": [other]}
        script.refuses(None, "fit_times", *measured(rng, on_cpu, on_gpu, 0.1), **asked)
    for runs in (several, one):
        script.ask_call("fit_times", *runs, want=oracle.fit_times(*runs), tolerance=1e-9)


# -- savings ------------------------------------------------------------------------------------------------------


def plain_step(rng, share, fewer):
    """A plain step: its launches take `share` of the GPU's time, and fusion leaves 1 of `fewer` kernels."""
    given = step(rng, 1, rng.uniform(1, 5), rng.uniform(0.2, 3))
    kernels = given["kernels"] = given.pop("launches")
    gpu = kernels * given["kernel_ms"] + given["nbytes"] / given["bytes_per_ms"]
    given["launch_ms"] = round(share * gpu / kernels, 9)
    return given | {"fused_kernels": max(2, round(kernels / fewer))}


def test_savings_bound_by_launches(check, rng):
    """Of a step bound by launches a graph saves all but one; fusion saves those of the kernels it takes away."""
    steps = [plain_step(rng, rng.uniform(3, 12), rng.uniform(1.2, 2)) for _ in range(10)]
    for _ in range(3):  # so little to do that the graph's one launch takes longer than the GPU
        kernels = rng.randint(4, 9)
        steps.append({"kernels": kernels, "fused_kernels": rng.randint(2, kernels - 1), "nbytes": 1000})
        steps[-1] |= {"launch_ms": rng.randint(1, 9) / 4, "kernel_ms": 0.001, "bytes_per_ms": 10**6}
    ask(check, "savings", steps, 1e-9)


def test_savings_bound_by_the_gpu(check, rng):
    """Of a step bound by the GPU a graph saves nothing, and fusion saves the kernels' fixed time, never the bytes'."""
    ask(check, "savings", [plain_step(rng, rng.uniform(0.1, 0.8), rng.uniform(2, 9)) for _ in range(10)], 1e-9)


def test_savings_do_not_add(check, rng):
    """Graph and fusion together save what is left to save, not the sum of what each saves alone."""
    ask(check, "savings", [plain_step(rng, rng.uniform(2, 12), rng.uniform(4, 12)) for _ in range(10)], 1e-9)
