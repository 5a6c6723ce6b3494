# verdict: wrong answer
# diagnosis: some numbers stand for empty pieces: a number was counted before and after each call of op, even where no call lies between
def piece_numbers(calls, op):
    numbers, number = [], 0
    for _, operator, _ in calls:
        number += operator == op
        numbers.append(number)
        number += operator == op
    return numbers
