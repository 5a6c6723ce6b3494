# verdict: wrong answer
# diagnosis: the warm-up did not run on the pool's stream: what libraries set up by stream is not set up where the graph is captured
def warm_up(fn, inputs, times, pool):
    for _ in range(times):
        fn(*inputs)
