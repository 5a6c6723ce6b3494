# verdict: wrong answer
# diagnosis: the answer says of each call whether it is one of op (0 or 1); wanted is the number of its piece
def piece_numbers(calls, op):
    return [int(operator == op) for _, operator, _ in calls]
