# verdict: wrong answer
# diagnosis: an operator inside an event of another kind was counted: that event called it, whatever its name
def top_level_operators(events):
    found, covered = Counter(), {}
    for name, thread, start, end in sorted(events, key=lambda e: (e[2], -e[3])):
        if name.startswith("aten::") and start >= covered.get(thread, float("-inf")):
            covered[thread] = end
            found[name] += 1
    return dict(found)
