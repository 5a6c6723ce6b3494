# verdict: wrong answer
# diagnosis: different names were counted: an operator that is called 40 times launches 40 times
def launching_calls(histogram):
    return sum(1 for name in histogram if name not in VIEWS)
