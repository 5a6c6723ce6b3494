# verdict: wrong answer|error
# diagnosis: after an error in the step the profiler was still on: end it in a finally, or use it in a with
def count_operators(fn, *args, **kwargs):
    import torch
    from torch.profiler import ProfilerActivity, profile

    profiler = profile(activities=[ProfilerActivity.CPU], acc_events=True)
    profiler.start()
    with torch.no_grad():
        fn(*args, **kwargs)
    profiler.stop()
    found = (e.name for e in profiler.events() if e.name.startswith("aten::") and e.cpu_parent is None)
    return OperatorCount(Counter(found))
