# verdict: wrong answer
# diagnosis: the views were counted too: they launch nothing
def launching_calls(histogram):
    return sum(histogram.values())
