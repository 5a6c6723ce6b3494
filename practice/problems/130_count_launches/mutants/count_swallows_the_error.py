# verdict: wrong answer
# diagnosis: the error of the step was swallowed: its caller must hear of it
def count_operators(fn, *args, **kwargs):
    import torch
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU], acc_events=True) as profiler, torch.no_grad():
        try:
            fn(*args, **kwargs)
        except Exception:
            pass
    found = (e.name for e in profiler.events() if e.name.startswith("aten::") and e.cpu_parent is None)
    return OperatorCount(Counter(found))
