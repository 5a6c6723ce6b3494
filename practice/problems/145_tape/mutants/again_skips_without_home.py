# verdict: wrong answer
# diagnosis: a call without a home was not run: it may write into its arguments
_right = run_again


def run_again(call):
    if any(home is not None for home in call.homes):
        _right(call)
