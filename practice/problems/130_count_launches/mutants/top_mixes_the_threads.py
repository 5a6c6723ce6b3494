# verdict: wrong answer
# diagnosis: one end was kept for all threads: an operator counts as inside one of another thread
def top_level_operators(events):
    found, covered = {}, float("-inf")
    for name, _, start, end in sorted(events, key=lambda e: (e[2], -e[3])):
        if start >= covered:
            covered = end
            if name.startswith("aten::"):
                found[name] = found.get(name, 0) + 1
    return found
