# verdict: error
# diagnosis: the result was taken for a tensor or a list of them: it may be a nest
def run_again(call):
    results = call.func(*call.args, **call.kwargs)
    results = list(results) if isinstance(results, (list, tuple)) else [results]
    for home, result in zip(call.homes, results, strict=False):
        if home is not None:
            home.copy_(result)
