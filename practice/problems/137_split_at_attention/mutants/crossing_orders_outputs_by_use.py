# verdict: wrong answer
# diagnosis: the outputs are in the order in which they are read later; wanted is the order in which they are made
_right = crossing_values


def crossing_values(calls, numbers, results):
    read = [name for _, _, reads in calls for name in reads]
    order = {name: place for place, name in reversed(list(enumerate([*read, *results])))}
    return [(inputs, sorted(outputs, key=order.get)) for inputs, outputs in _right(calls, numbers, results)]
