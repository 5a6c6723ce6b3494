# verdict: wrong answer
# diagnosis: a call of op ends the piece before it; it is a piece of its own, so a new one begins with it too
def piece_numbers(calls, op):
    numbers, number = [], 0
    for _, operator, _ in calls:
        numbers.append(number)
        number += operator == op
    return numbers
