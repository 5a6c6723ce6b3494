# verdict: wrong answer
# diagnosis: what runs inside a mark was counted: an operator inside any event is not top-level
def count_operators(fn, *args, **kwargs):
    import torch
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU], acc_events=True) as profiler, torch.no_grad():
        fn(*args, **kwargs)
    return OperatorCount(Counter(e.name for e in profiler.events() if (e.cpu_parent is None or not e.cpu_parent.name.startswith("aten::")) and e.name.startswith("aten::")))
