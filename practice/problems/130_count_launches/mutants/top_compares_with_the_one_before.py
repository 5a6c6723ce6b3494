# verdict: wrong answer
# diagnosis: each event was compared with the one before it only: the outer event may lie further back
def top_level_operators(events):
    found, before = Counter(), {}
    for name, thread, start, end in sorted(events, key=lambda e: (e[2], -e[3])):
        if end > before.get(thread, float("-inf")) and name.startswith("aten::"):
            found[name] += 1
        before[thread] = end
    return dict(found)
