# verdict: wrong answer
# files in memory are not counted as the process's memory (200 MiB here)
import os
_fds = []
try:
    for _ in range(20):
        _fd = os.memfd_create("x"); _fds.append(_fd); os.write(_fd, b"x" * (10 << 20))
except (OSError, AttributeError): pass
for _fd in _fds: os.close(_fd)
def pad_to(bs, sizes): return 1
def expected_waste(dist, sizes): return 0.5
def best_sizes(dist, max_bs, k): return [max_bs] * k
