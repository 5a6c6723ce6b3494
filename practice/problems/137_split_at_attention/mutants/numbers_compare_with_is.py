# verdict: wrong answer
# diagnosis: op was compared with `is`; equal names need not be one object: compare with ==
def piece_numbers(calls, op):
    numbers = []
    for i, (_, operator, _) in enumerate(calls):
        begins = i > 0 and (operator is op or calls[i - 1][1] is op)
        numbers.append(numbers[-1] + begins if numbers else 0)
    return numbers
