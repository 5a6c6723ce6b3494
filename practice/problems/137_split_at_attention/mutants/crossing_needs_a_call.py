# verdict: error
# diagnosis: without calls there are no pieces, and no largest number: max needs default=-1
_right = crossing_values


def crossing_values(calls, numbers, results):
    max(numbers)
    return _right(calls, numbers, results)
