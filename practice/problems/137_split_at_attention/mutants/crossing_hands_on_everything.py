# verdict: wrong answer
# diagnosis: everything that a piece makes comes out of it; only what another piece reads or the step returns should, so that the rest need not be kept
_right = crossing_values


def crossing_values(calls, numbers, results):
    return [
        (inputs, [name for (name, _, _), at in zip(calls, numbers) if at == number])
        for number, (inputs, _) in enumerate(_right(calls, numbers, results))
    ]
