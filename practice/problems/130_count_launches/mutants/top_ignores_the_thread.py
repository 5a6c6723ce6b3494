# verdict: wrong answer
# diagnosis: an operator was left out because another thread was busy at the same time
def top_level_operators(events):
    found, covered = Counter(), float("-inf")
    for name, thread, start, end in sorted(events, key=lambda e: (e[2], -e[3])):
        if start < covered and end <= covered:
            continue
        covered = end
        if name.startswith("aten::"):
            found[name] += 1
    return dict(found)
