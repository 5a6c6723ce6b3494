# verdict: wrong answer
# diagnosis: all events were counted, also what the operators call inside themselves
def count_operators(fn, *args, **kwargs):
    import torch
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU], acc_events=True) as profiler, torch.no_grad():
        fn(*args, **kwargs)
    return OperatorCount(Counter(e.name for e in profiler.events() if e.name.startswith("aten::")))
