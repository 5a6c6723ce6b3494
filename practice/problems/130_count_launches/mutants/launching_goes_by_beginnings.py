# verdict: wrong answer
# diagnosis: a name that only begins like a view's (aten::tril like aten::t) was taken for a view
def launching_calls(histogram):
    return sum(calls for name, calls in histogram.items() if not name.startswith(tuple(VIEWS)))
