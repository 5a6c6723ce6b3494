# verdict: wrong answer
# diagnosis: an operator that starts at the very end of another was taken to lie inside it: the two only touch
def top_level_operators(events):
    found, covered = Counter(), {}
    for name, thread, start, end in sorted(events, key=lambda e: (e[2], -e[3])):
        if start <= covered.get(thread, float("-inf")):
            continue
        covered[thread] = end
        if name.startswith("aten::"):
            found[name] += 1
    return dict(found)
