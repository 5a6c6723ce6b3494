# verdict: error
# diagnosis: a home of None was not left out: such a result needs no copy
def run_again(call):
    results = tree_leaves(call.func(*call.args, **call.kwargs))
    for home, result in zip(call.homes, results, strict=True):
        home.copy_(result)
