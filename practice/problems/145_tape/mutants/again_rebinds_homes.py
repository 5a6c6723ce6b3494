# verdict: wrong answer
# diagnosis: the home was given the result's memory; copy the numbers into the memory that the home has
def run_again(call):
    results = tree_leaves(call.func(*call.args, **call.kwargs))
    for home, result in zip(call.homes, results, strict=True):
        if home is not None:
            home.data = result
