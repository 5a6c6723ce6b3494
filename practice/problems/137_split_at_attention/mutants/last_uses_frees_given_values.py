# verdict: wrong answer
# diagnosis: values that were given (inputs of the step, weights) are set free; only what a piece made can be
def last_uses(crossing, results):
    needed_later, free = set(results), []
    for inputs, _ in reversed(crossing):
        free.append([name for name in inputs if name not in needed_later])
        needed_later |= set(inputs)
    return free[::-1]
