# verdict: wrong answer
# diagnosis: these are the calls that launch nothing; the others were asked for
def launching_calls(histogram):
    return sum(calls for name, calls in histogram.items() if name in VIEWS)
