# verdict: wrong answer
# diagnosis: the step ran with gradients: a decode step needs none
def count_operators(fn, *args, **kwargs):
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU], acc_events=True) as profiler:
        fn(*args, **kwargs)
    found = (e.name for e in profiler.events() if e.name.startswith("aten::") and e.cpu_parent is None)
    return OperatorCount(Counter(found))
