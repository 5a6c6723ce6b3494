# verdict: wrong answer
# diagnosis: what operators call inside themselves was counted too
def top_level_operators(events):
    return dict(Counter(name for name, *_ in events if name.startswith("aten::")))
