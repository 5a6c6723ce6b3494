# verdict: wrong answer
# diagnosis: a value that skips a piece was handed through it, as an input and an output; it appears only where it is made and where it is read
_right = crossing_values


def crossing_values(calls, numbers, results):
    right = _right(calls, numbers, results)
    home = {name: number for (name, _, _), number in zip(calls, numbers)}
    last = {name: number for number, (inputs, _) in enumerate(right) for name in inputs}
    found = []
    for number, (inputs, outputs) in enumerate(right):
        through = [n for n in home if home[n] < number < last.get(n, -1)]
        found.append((list(dict.fromkeys([*inputs, *through])), list(dict.fromkeys([*through, *outputs]))))
    return found
