# verdict: wrong answer
# diagnosis: the call was run, but its result was not copied into the home: what was recorded later reads old numbers
def run_again(call):
    call.func(*call.args, **call.kwargs)
