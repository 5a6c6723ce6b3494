"""Hidden tests of problem 132. Inputs are drawn for each run; the docstrings are shown to the learner.

An eager step that poses as a graph answers every call right until a Python value of the step changes, so each test of
`CapturedStep` changes one after the capture, and asks the step itself, to see that it did change. The numbers are
whole and large, exact in single precision and not in half. Where a result is looked at, the step is on its third call
or the example was another one: nothing that was kept from before is right.

What a deliberate forger could still do: copy the step with every Python value that it reaches, the scene's globals
too, share its tensors, and run that copy eagerly. It would have to freeze the values by hand, and to know the scene.
"""

import oracle
import torch


def whole(rng, *shape, dtype=torch.float32):
    """Numbers drawn from 1000 to 9999 (of a half-precision type from 1 to 9), all different from a zero or a one."""
    low, high = (2, 9) if dtype in (torch.bfloat16, torch.float16) else (1000, 9999)
    count = torch.Size(shape).numel()
    return torch.tensor([rng.randint(low, high) for _ in range(count)]).reshape(shape).to(dtype)


def two(rng, low=2, high=9):
    """Two different numbers."""
    return rng.sample(range(low, high + 1), 2)


# --- copy_in ----------------------------------------------------------------------------------------


def buffers_of(script, values):
    """Buffers that hold these values, and the same memory under names that copy_in does not see."""
    buffers = [script.scene("hold", v, as_="buffer") for v in values]
    return buffers, [script.scene("memory_of", b, as_="memory") for b in buffers]


def test_copy_in_copies_into_the_buffers(check, rng):
    """Each value is written into the memory that its buffer has: a graph reads that address and no other."""
    script = check.script()
    shapes = [(3,), (2, rng.randint(2, 4)), ()]
    dtypes = [torch.float32, torch.int64, torch.bfloat16]
    buffers, memory = buffers_of(script, [whole(rng, *s, dtype=d) for s, d in zip(shapes, dtypes, strict=True)])
    for _ in range(2):
        values = [whole(rng, *s, dtype=d) for s, d in zip(shapes, dtypes, strict=True)]
        script.ask_call("copy_in", buffers, values, want=None)
        for place, value in zip(memory, values, strict=True):
            script.ask_scene("read", place, want=value)


def refuses(script, rng, was, came, words, never=()):
    """Values that do not fit are refused with these words, and ones that fit are copied afterwards."""
    buffers, memory = buffers_of(script, was)
    script.refuses(None, "copy_in", buffers, came, words=["ValueError", *words], never=never)
    for place, value in zip(memory, was, strict=True):
        script.ask_scene("read", place, want=value)
    values = [whole(rng, *b.shape, dtype=b.dtype) for b in was]
    script.ask_call("copy_in", buffers, values, want=None)
    for place, value in zip(memory, values, strict=True):
        script.ask_scene("read", place, want=value)


def test_copy_in_refuses_another_shape(check, rng):
    """A value of another shape is refused with a ValueError that names the input and both shapes."""
    n = rng.randint(3, 6)
    for was, came in (((n,), (n + 1,)), ((n,), (1,)), ((n,), ()), ((2, n), (n,)), ((2, n), (n, 2))):
        words = ["input 0", str(list(was)), str(list(came))]
        refuses(check.script(), rng, [whole(rng, *was), whole(rng, 3)], [whole(rng, *came), whole(rng, 3)], words)


def test_copy_in_refuses_another_dtype(check, rng):
    """A value of another dtype is refused with a ValueError that names the input and both dtypes."""
    n = rng.randint(2, 4)
    for was, came in (("float32", "bfloat16"), ("int64", "float32"), ("int64", "int32"), ("float32", "float64")):
        there, value = (whole(rng, n, dtype=getattr(torch, name)) for name in (was, came))
        refuses(check.script(), rng, [there, whole(rng, 3)], [value, whole(rng, 3)], ["input 0", was, came])


def test_copy_in_refuses_another_number_of_inputs(check, rng):
    """More values than buffers, or fewer, are refused with a ValueError that says how many there are of each."""
    n = rng.randint(2, 4)
    for came in (n - 1, n + 1):
        there, values = ([whole(rng, 2) for _ in range(count)] for count in (n, came))
        refuses(check.script(), rng, there, values, [str(n), str(came)])


def test_copy_in_copies_all_or_nothing(check, rng):
    """When a later value is refused, by its own number alone, no buffer has changed, those before it neither."""
    for came in (whole(rng, 4), whole(rng, 3).long(), whole(rng, 1)):
        there, values = [whole(rng, 3) for _ in range(3)], [whole(rng, 3), whole(rng, 3), came]
        refuses(check.script(), rng, there, values, ["input 2"], never=["input 0", "input 1"])


# --- warm_up ----------------------------------------------------------------------------------------


def test_warm_up_runs_the_step(check, rng):
    """The step runs `times` times, on the very tensors in `inputs`, passed one by one."""
    for times in (rng.randint(3, 6), 1):
        script = check.script()
        total, x = whole(rng, 2), whole(rng, 2)
        pool = script.scene("pool_for", x, as_="pool")
        step = script.scene("adds_in_place", as_="step")
        held = script.scene("hold", total, as_="total")
        script.ask_call("warm_up", step, [held, x], times, pool, want=None)
        script.ask_scene("read", held, want=total + times * x)


def test_warm_up_runs_on_the_stream(check, rng):
    """Every run is on the pool's stream, the one that will be captured, and nothing that comes after is."""
    script = check.script()
    times, x = rng.randint(2, 5), whole(rng, 2)
    pool = script.scene("pool_for", x, as_="pool")
    count = script.scene("hold", torch.tensor([0]), as_="count")
    step = script.scene("step_that_counts_runs_on_stream", pool, count, as_="step")
    script.ask_call("warm_up", step, [x], times, pool, want=None)
    script.ask_scene("read", count, want=torch.tensor([times]))
    script.ask_scene("on_stream", pool, want=False)


def test_warm_up_lets_errors_out(check, rng):
    """An error of the step comes out as it is, and the pool's stream is left all the same."""
    script = check.script()
    times, x = rng.randint(3, 5), whole(rng, 2)
    pool = script.scene("pool_for", x, as_="pool")
    step = script.scene("step_that_fails", in_run=rng.randint(2, times), as_="step")
    script.refuses(None, "warm_up", step, [x], times, pool, words=["ArithmeticError", "this step cannot run"])
    script.ask_scene("on_stream", pool, want=False)


# --- CapturedStep -----------------------------------------------------------------------------------


def test_CapturedStep_reads_new_inputs(check, rng):
    """Each call computes with the numbers that all its inputs have now, also where a tensor comes again."""
    for x_dtype, y_dtype in ((torch.float32, torch.float32), (torch.bfloat16, torch.int64)):
        script = check.script()
        (scale, other), term = two(rng), rng.randint(2, 5)

        def draw(x_dtype=x_dtype, y_dtype=y_dtype):
            return whole(rng, 3, dtype=x_dtype), whole(rng, 3, dtype=y_dtype) % 10 + 2

        step = script.scene("weighted_step", scale=scale, term=term, as_="step")
        captured = script.make("CapturedStep", step, *draw())
        held = [script.scene("hold", value, as_=name) for name, value in zip("xy", draw(), strict=True)]
        script.keep(captured, "", *held, as_="first")
        script.ask_scene("change", step, scale=other, want=None)
        for _ in range(2):
            x, y = draw()
            for place, value in zip(held, (x, y), strict=True):
                script.ask_scene("put", place, value, want=None)
            script.ask(captured, "", *held, want=oracle.weighted(x, y, scale, term))
        x, y = draw()
        script.ask(step, "", x, y, want=oracle.weighted(x, y, other, term))
        script.ask(captured, "", x, y, want=oracle.weighted(x, y, scale, term))


def test_CapturedStep_keeps_python_values(check, rng):
    """A Python number that the step reads stays what it was when the object was made, wherever it is kept."""
    script = check.script()
    before, after = zip(two(rng), two(rng), two(rng, 1000, 9999), strict=True)
    x, y = whole(rng, 3), whole(rng, 3)
    step = script.scene("weighted_step", *before, as_="step")
    captured = script.make("CapturedStep", step, whole(rng, 3), whole(rng, 3))
    for name, value in zip(("scale", "term", "shift"), after, strict=True):
        script.ask_scene("change", step, want=None, **{name: value})
    script.ask(step, "", x, y, want=oracle.weighted(x, y, *after))
    script.ask(captured, "", x, y, want=oracle.weighted(x, y, *before))
    script.ask(captured, "", y, x, want=oracle.weighted(y, x, *before))


def test_CapturedStep_leaves_the_callers_tensors_alone(check, rng):
    """The graph has buffers of its own: no example and no input is written to, and none changes a later result."""
    script = check.script()
    (scale, other), value, x, y = two(rng), whole(rng, 3), whole(rng, 3), whole(rng, 3)
    example = script.scene("hold", value, as_="example")
    step = script.scene("overwriting_step", scale, as_="step")
    captured = script.make("CapturedStep", step, example)
    script.ask_scene("change", step, scale=other, want=None)
    script.ask_scene("read", example, want=value)
    held = script.scene("hold", x, as_="x")
    first = script.keep(captured, "", held, as_="result")
    script.ask_scene("read", held, want=x)
    script.ask_scene("read", example, want=value)
    script.ask_scene("fill", example, 5, want=None)
    script.ask_scene("fill", held, 5, want=None)
    script.ask_scene("read", first, want=scale * x)
    script.ask(captured, "", y, want=scale * y)


def test_CapturedStep_buffers_for_every_element(check, rng):
    """An example made by `expand` has one row of memory for many: its buffer has them all."""
    script = check.script()
    scale, other = two(rng)
    rows, width = rng.randint(2, 4), rng.randint(2, 3)
    example = script.scene("expanded_tensor", whole(rng, width), rows, as_="example")
    step = script.scene("weighted_step", scale, 1, as_="step")
    captured = script.make("CapturedStep", step, example, whole(rng, rows, width))
    script.ask_scene("change", step, scale=other, want=None)
    x, y = whole(rng, rows, width), whole(rng, rows, width)
    script.ask(captured, "", x, y, want=oracle.weighted(x, y, scale, 1))


def test_CapturedStep_returns_the_steps_nest(check, rng):
    """The result has the form that the step gives it: dicts, tuples, lists, numbers, texts and None."""
    script = check.script()
    scale, other = two(rng)
    step = script.scene("nested_step", scale, as_="step")
    captured = script.make("CapturedStep", step, whole(rng, 2), whole(rng, 2))
    script.ask_scene("change", step, scale=other, want=None)
    for _ in range(2):
        x, y = whole(rng, 2), whole(rng, 2)
        script.ask(captured, "", x, y, want=oracle.nested(x, y, scale))


def test_CapturedStep_results_are_the_callers(check, rng):
    """No later call overwrites a result, whatever it is nested in, and a caller who writes into one spoils nothing."""
    script = check.script()
    scale, other = two(rng)
    step = script.scene("nested_step", scale, as_="step")
    captured = script.make("CapturedStep", step, whole(rng, 2), whole(rng, 2))
    script.ask_scene("change", step, scale=other, want=None)
    pairs = [(whole(rng, 2), whole(rng, 2)) for _ in range(3)]
    results = [script.keep(captured, "", x, y, as_="result") for x, y in pairs]
    for result, (x, y) in zip(results, pairs, strict=True):
        script.ask_scene("read", result, want=oracle.nested(x, y, scale))


def test_CapturedStep_warms_up_first(check, rng):
    """A step that sets itself up in its first runs is run `warmup` times before it is recorded; 2 unless said."""
    for runs in (2, rng.randint(3, 5)):
        script = check.script()
        scale, other = two(rng)
        step = script.scene("step_that_sets_itself_up", scale, runs=runs, as_="step")
        some = {} if runs == 2 else {"warmup": runs}
        captured = script.make("CapturedStep", step, whole(rng, 3), **some)
        script.ask_scene("change", step, scale=other, want=None)
        for _ in range(2):
            x = whole(rng, 3)
            script.ask(captured, "", x, want=scale * x)


def test_CapturedStep_warms_up_on_the_examples(check, rng):
    """The warm-up computes with the examples' values, exactly `warmup` times; the recording computes nothing."""
    script = check.script()
    (scale, other), warmup, start, example = two(rng), rng.randint(1, 4), whole(rng, 2), whole(rng, 2)
    held = script.scene("hold", start, as_="total")
    step = script.scene("adding_step", held, scale, as_="step")
    captured = script.make("CapturedStep", step, example, warmup=warmup)
    script.ask_scene("read", held, want=start + warmup * (example + 1))
    script.ask_scene("change", step, scale=other, want=None)
    x = whole(rng, 2)
    script.ask(captured, "", x, want=scale * (start + warmup * (example + 1) + x + 1))


def test_CapturedStep_works_on_the_steps_tensors(check, rng):
    """The step's own tensors are memory: a new value in one shows, another tensor in its place does not."""
    script = check.script()
    (scale, other), start, number = two(rng), whole(rng, 2), rng.randint(1000, 9999)
    held = script.scene("hold", start, as_="total")
    step = script.scene("adding_step", held, scale, as_="step")
    captured = script.make("CapturedStep", step, whole(rng, 2))
    script.ask_scene("change", step, scale=other, want=None)
    script.ask_scene("fill", held, number, want=None)
    script.ask_scene("put_another_total", step, whole(rng, 2), want=None)
    x = whole(rng, 2)
    for calls in (1, 2, 3):
        script.ask(captured, "", x, want=scale * (number + calls * (x + 1)))
    script.ask_scene("read", held, want=number + 3 * (x + 1))


def test_CapturedStep_uses_the_pool(check, rng):
    """With a pool given, the step is warmed up on that pool's stream and recorded in its memory, as others are."""
    script = check.script()
    (scale, other), warmup, x = two(rng), rng.randint(2, 4), whole(rng, 3)
    pool = script.scene("pool_for", x, as_="pool")
    count = script.scene("hold", torch.tensor([0]), as_="count")
    step = script.scene("step_that_counts_runs_on_stream", pool, count, scale, as_="step")
    captured = script.make("CapturedStep", step, x, warmup=warmup, pool=pool)
    script.ask_scene("read", count, want=torch.tensor([warmup]))
    script.ask_scene("on_stream", pool, want=False)
    script.ask_scene("holds_memory", pool, want=True)
    script.ask_scene("change", step, scale=other, want=None)
    second = script.make("CapturedStep", step, x, warmup=1, pool=pool)
    x, y = whole(rng, 3), whole(rng, 3)
    first = script.keep(captured, "", x, as_="result")
    script.ask(second, "", y, want=other * y)
    script.ask_scene("read", first, want=scale * x)


def test_CapturedStep_refuses_what_it_was_not_captured_for(check, rng):
    """Inputs of another shape, dtype or number are refused as copy_in does, and the next right call is right."""
    n = rng.randint(2, 4)
    script = check.script()
    scale, other = two(rng)
    step = script.scene("weighted_step", scale, 1, as_="step")
    captured = script.make("CapturedStep", step, whole(rng, n), whole(rng, n))
    script.ask_scene("change", step, scale=other, want=None)
    x, y = whole(rng, n), whole(rng, n)
    script.refuses(captured, "", whole(rng, n), whole(rng, n + 1), words=["ValueError", "input 1", f"[{n + 1}]"])
    script.refuses(captured, "", whole(rng, 1), whole(rng, n), words=["ValueError", "input 0", "[1]"])
    script.refuses(captured, "", whole(rng, n), whole(rng, n).long(), words=["ValueError", "input 1", "int64"])
    script.refuses(captured, "", whole(rng, n), words=["ValueError", "1", "2"])
    script.ask(captured, "", x, y, want=oracle.weighted(x, y, scale, 1))
