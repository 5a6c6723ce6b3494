# verdict: wrong answer
# diagnosis: an input stands in the list as often as it is read; each name stands there once
_right = crossing_values


def crossing_values(calls, numbers, results):
    found = []
    for number, (inputs, outputs) in enumerate(_right(calls, numbers, results)):
        inside = [reads for (_, _, reads), at in zip(calls, numbers) if at == number]
        found.append(([name for reads in inside for name in reads if name in inputs], outputs))
    return found
