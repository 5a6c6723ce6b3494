# verdict: wrong answer
# diagnosis: after an error the profiler goes on: a `with` stops it, whatever happens inside
def count_operators(fn, *args, **kwargs):
    import torch
    from torch.profiler import ProfilerActivity, profile

    profiler = profile(activities=[ProfilerActivity.CPU], acc_events=True)
    profiler.start()
    with torch.no_grad():
        fn(*args, **kwargs)
    profiler.stop()
    return OperatorCount(Counter(e.name for e in profiler.events() if e.cpu_parent is None and e.name.startswith("aten::")))
