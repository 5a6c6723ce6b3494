# verdict: wrong answer
# diagnosis: the calls behind a call of op are in its piece; a call of op is a piece of its own, so a new one begins behind it too
def piece_numbers(calls, op):
    numbers, number = [], 0
    for i, (_, operator, _) in enumerate(calls):
        number += operator == op and i > 0
        numbers.append(number)
    return numbers
