# verdict: wrong answer
# diagnosis: time was taken to begin at 0: an event may start earlier
def top_level_operators(events):
    found, ends = {}, {}
    for name, thread, start, end in sorted(events, key=lambda e: (e[2], -e[3])):
        if start >= ends.get(thread, 0):
            ends[thread] = end
            if name.startswith("aten::"):
                found[name] = found.get(name, 0) + 1
    return found
