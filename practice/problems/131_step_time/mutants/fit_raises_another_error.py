# verdict: wrong answer
# diagnosis: the error says what is missing, and is a RuntimeError; whoever calls waits for a ValueError
_right = fit_times


def fit_times(runs, bytes_per_ms):
    try:
        return _right(runs, bytes_per_ms)
    except ValueError as error:
        raise RuntimeError(*error.args) from None
