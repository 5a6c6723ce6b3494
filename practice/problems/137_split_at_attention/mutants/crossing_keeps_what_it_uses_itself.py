# verdict: wrong answer
# diagnosis: a value that its own piece reads was not handed on, though other pieces read it too
_right = crossing_values


def crossing_values(calls, numbers, results):
    found = []
    for number, (inputs, outputs) in enumerate(_right(calls, numbers, results)):
        inside = {name for (_, _, reads), at in zip(calls, numbers) if at == number for name in reads}
        found.append((inputs, [name for name in outputs if name not in inside or name in results]))
    return found
