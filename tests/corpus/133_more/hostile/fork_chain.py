# verdict: wrong answer|error|crashed
# a process that is always its own grandchild (for two seconds)
import os, time
def pad_to(bs, sizes): return 1
def expected_waste(dist, sizes): return 0.5
def best_sizes(dist, max_bs, k): return [max_bs] * k
def _run():
    end = time.monotonic() + 2
    try:
        if os.fork(): return
        os.setsid()
        while time.monotonic() < end:
            if os.fork(): os._exit(0)
        os._exit(0)
    except OSError: pass
_run()
