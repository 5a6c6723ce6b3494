# verdict: accepted
# the functions come out of exec, globals() and setattr; their code objects name no file that exists
import sys
_SOURCE = '\ndef pad_to(bs, sizes):\n    return next((s for s in sizes if s >= bs), None)\n\n\ndef expected_waste(dist, sizes):\n    steps = sum(dist.values())\n    rows = sum(n * (pad_to(b, sizes) - b) for b, n in dist.items() if pad_to(b, sizes) is not None)\n    return rows / steps if steps else 0\n\n\ndef best_sizes(dist, max_bs, k):\n    count, rows = [0], [0]\n    for b in range(1, max_bs + 1):\n        count.append(count[-1] + dist.get(b, 0))\n        rows.append(rows[-1] + dist.get(b, 0) * b)\n    cost = lambda j, i: i * (count[i] - count[j]) - (rows[i] - rows[j])\n    best = {j: (cost(j, max_bs), (max_bs,)) for j in range(max_bs)}\n    for m in range(2, k + 1):\n        best = {\n            j: min((cost(j, i) + best[i][0], (i, *best[i][1])) for i in best if i > j)\n            for j in range(max_bs - m + 1)\n        }\n    return list(best[0][1])\n'
_space = {}
exec(compile(_SOURCE, "<nowhere>", "exec"), _space)
globals()["pad_to"] = _space["pad_to"]
setattr(sys.modules[__name__], "expected_waste", _space["expected_waste"])
vars(sys.modules[__name__]).update(best_sizes=_space["best_sizes"])
