# verdict: wrong answer
# diagnosis: only what follows `::` was compared: the whole name counts, mine::view is no aten::view
def launching_calls(histogram):
    views = {name.removeprefix("aten::") for name in VIEWS}
    return sum(n for name, n in histogram.items() if name.split("::")[-1] not in views)
