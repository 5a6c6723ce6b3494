# verdict: wrong answer
# diagnosis: gradients were switched off for good: `with torch.no_grad()` switches them on again at its end
def count_operators(fn, *args, **kwargs):
    import torch
    from torch.profiler import ProfilerActivity, profile

    torch.set_grad_enabled(False)
    with profile(activities=[ProfilerActivity.CPU], acc_events=True) as profiler:
        fn(*args, **kwargs)
    return OperatorCount(Counter(e.name for e in profiler.events() if e.cpu_parent is None and e.name.startswith("aten::")))
