# verdict: wrong answer
# diagnosis: a name that holds aten:: somewhere was counted; an operator's name starts with it
def top_level_operators(events):
    found, covered = Counter(), {}
    for name, thread, start, end in sorted(events, key=lambda e: (e[2], -e[3])):
        if start >= covered.get(thread, float("-inf")):
            covered[thread] = end
            if "aten::" in name:
                found[name] += 1
    return dict(found)
