# verdict: wrong answer
# diagnosis: the histogram is a plain dict: a collections.Counter was asked for
def count_operators(fn, *args, **kwargs):
    import torch
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU], acc_events=True) as profiler, torch.no_grad():
        fn(*args, **kwargs)
    return OperatorCount(dict(Counter(e.name for e in profiler.events() if e.cpu_parent is None and e.name.startswith("aten::"))))
