"""The examples of the statement."""

import oracle

NBYTES, BYTES_PER_MS = 1_199_439_872, 4_265_335_115
RUNS = [
    {"launches": 2013, "kernels": 2013, "bytes": NBYTES, "ms": 48.884, "gpu_waits": 0.916},
    {"launches": 1, "kernels": 2154, "bytes": NBYTES, "ms": 5.044, "gpu_waits": 0.141},
    {"launches": 1, "kernels": 986, "bytes": NBYTES, "ms": 2.933, "gpu_waits": 0.128},
    {"launches": 1, "kernels": 286, "bytes": NBYTES, "ms": 1.330, "gpu_waits": 0.084},
]
TIMES = {"nbytes": NBYTES, "launch_ms": 0.0243, "kernel_ms": 0.0023, "bytes_per_ms": BYTES_PER_MS}


def test_step_time_examples(check):
    """The example of the statement."""
    check.each("step_time", [(check.keywords(launches=1, kernels=2154, **TIMES),)], oracle.step_time, tolerance=1e-9)


def test_bound_by_examples(check):
    """The example of the statement."""
    check.each("bound_by", [(check.keywords(launches=2013, kernels=2013, **TIMES),)], oracle.bound_by)


def test_fit_times_examples(check):
    """The example of the statement."""
    check.each("fit_times", [(RUNS, BYTES_PER_MS)], oracle.fit_times, tolerance=1e-9)


def test_savings_examples(check):
    """The example of the statement."""
    case = check.keywords(kernels=2013, fused_kernels=286, **TIMES)
    check.each("savings", [(case,)], oracle.savings, tolerance=1e-9)
