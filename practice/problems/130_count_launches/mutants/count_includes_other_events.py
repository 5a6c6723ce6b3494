# verdict: wrong answer
# diagnosis: events that are no operators were counted: only names that start with aten:: are operators
def count_operators(fn, *args, **kwargs):
    import torch
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU], acc_events=True) as profiler, torch.no_grad():
        fn(*args, **kwargs)
    return OperatorCount(Counter(e.name for e in profiler.events() if e.cpu_parent is None))
