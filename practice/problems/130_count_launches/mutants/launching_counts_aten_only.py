# verdict: wrong answer
# diagnosis: operators of other libraries were left out: any name that is not in VIEWS launches
def launching_calls(histogram):
    return sum(n for name, n in histogram.items() if name.startswith("aten::") and name not in VIEWS)
