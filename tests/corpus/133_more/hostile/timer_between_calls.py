# verdict: wrong answer|crashed|error|import error
# raises inside the worker's own code, every millisecond
import signal
def pad_to(bs, sizes): return 1
def expected_waste(dist, sizes): return 0.5
def best_sizes(dist, max_bs, k): return [max_bs] * k
def _ring(*_): raise RuntimeError("in the middle of something")
signal.signal(signal.SIGALRM, _ring)
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
