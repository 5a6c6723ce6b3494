# verdict: wrong answer
# diagnosis: events that are no operators were counted: only names that start with aten:: are operators
def top_level_operators(events):
    found, covered = Counter(), {}
    for name, thread, start, end in sorted(events, key=lambda e: (e[2], -e[3])):
        if start >= covered.get(thread, float("-inf")):
            covered[thread] = end
            found[name] += 1
    return dict(found)
