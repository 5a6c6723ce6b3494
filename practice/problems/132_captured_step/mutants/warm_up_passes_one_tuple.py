# verdict: error
# diagnosis: the inputs were passed as one argument; the step takes each tensor for itself
def warm_up(fn, inputs, times, pool):
    with pool.on_stream():
        for _ in range(times):
            fn(inputs)
