# verdict: wrong answer
# diagnosis: of two events that start together, the inner one was taken for the outer one
def top_level_operators(events):
    found, covered = Counter(), {}
    for name, thread, start, end in sorted(events, key=lambda e: e[2]):
        if start < covered.get(thread, float("-inf")):
            continue
        covered[thread] = end
        if name.startswith("aten::"):
            found[name] += 1
    return dict(found)
