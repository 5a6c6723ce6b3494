# verdict: wrong answer
# 40 MiB wherever it may write, which the next test's child still finds
import os
FOUND = []
for _d in ("/tmp", "/dev", "/dev/shm", "/var/tmp", "/run", "..", "."):
    try:
        FOUND += [_d] * os.path.exists(_d + "/left133.0")
        for _i in range(4):
            with open(f"{_d}/left133.{_i}", "wb") as _f: _f.write(b"x" * (10 << 20))
    except OSError: pass
print("left from another test:", FOUND)
def pad_to(bs, sizes): return 1
def expected_waste(dist, sizes): return 0.5
def best_sizes(dist, max_bs, k): return [max_bs] * k
