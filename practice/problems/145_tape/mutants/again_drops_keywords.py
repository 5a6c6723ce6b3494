# verdict: wrong answer
# diagnosis: the keyword arguments of the call were not passed
_right = run_again


def run_again(call):
    _right(Call(call.func, call.args, {}, call.homes))
