# verdict: wrong answer
# diagnosis: the events were taken in the order of the list: it means nothing, so sort them by their start
def top_level_operators(events):
    found, covered = Counter(), {}
    for name, thread, start, end in events:
        if start < covered.get(thread, float("-inf")) and end <= covered[thread]:
            continue
        covered[thread] = end
        if name.startswith("aten::"):
            found[name] += 1
    return dict(found)
