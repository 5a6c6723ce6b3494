# verdict: wrong answer
# diagnosis: inputs that no piece makes are missing: what was given to the step (its inputs, weights) is an input of each piece that reads it
_right = crossing_values


def crossing_values(calls, numbers, results):
    made = {name for name, _, _ in calls}
    return [([n for n in inputs if n in made], outputs) for inputs, outputs in _right(calls, numbers, results)]
