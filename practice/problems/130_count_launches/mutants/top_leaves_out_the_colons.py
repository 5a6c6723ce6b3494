# verdict: wrong answer
# diagnosis: a name that starts with aten and goes on otherwise was counted: it must start with aten::
def top_level_operators(events):
    found, ends = {}, {}
    for name, thread, start, end in sorted(events, key=lambda e: (e[2], -e[3])):
        if start >= ends.get(thread, float("-inf")):
            ends[thread] = end
            if name.startswith("aten"):
                found[name] = found.get(name, 0) + 1
    return found
