# verdict: wrong answer
# diagnosis: two calls of op in a row are in one piece; each is a piece of its own
def piece_numbers(calls, op):
    numbers, number, before = [], -1, None
    for _, operator, _ in calls:
        number += before is None or (operator == op) != (before == op)
        numbers.append(number)
        before = operator
    return numbers
