# verdict: wrong answer
# diagnosis: a value that the next piece does not read was not handed on, though a later piece reads it
_right = crossing_values


def crossing_values(calls, numbers, results):
    right = _right(calls, numbers, results)
    following = [*(inputs for inputs, _ in right[1:]), []]
    return [
        (inputs, [name for name in outputs if name in after or name in results])
        for (inputs, outputs), after in zip(right, following)
    ]
