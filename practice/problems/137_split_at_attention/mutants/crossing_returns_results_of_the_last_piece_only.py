# verdict: wrong answer
# diagnosis: only the last piece hands on what the step returns; a result may be made by an earlier piece, and comes out there
_right = crossing_values


def crossing_values(calls, numbers, results):
    last = [name for (name, _, _), at in zip(calls, numbers) if at == numbers[-1]]
    return _right(calls, numbers, [name for name in results if name in last])
