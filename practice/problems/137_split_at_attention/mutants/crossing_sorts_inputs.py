# verdict: wrong answer
# diagnosis: the inputs are in another order than that of their first use: a set or a sort has lost it
_right = crossing_values


def crossing_values(calls, numbers, results):
    return [(sorted(inputs), outputs) for inputs, outputs in _right(calls, numbers, results)]
