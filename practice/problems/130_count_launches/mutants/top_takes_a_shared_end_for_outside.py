# verdict: wrong answer
# diagnosis: an event that starts or ends together with another was not seen to lie inside it
def top_level_operators(events):
    found = Counter()
    for name, thread, start, end in events:
        if name.startswith("aten::") and not any(t == thread and s < start and end < e for _, t, s, e in events):
            found[name] += 1
    return dict(found)
