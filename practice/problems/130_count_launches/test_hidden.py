"""Hidden tests of problem 130. Inputs are drawn for each run; the docstrings are shown to the learner."""

from collections import Counter

import oracle
import torch

VIEWS = "view transpose chunk reshape expand slice unsqueeze t split detach alias select to".split()
OTHERS = "mul add linear pow cat mean rsqrt neg matmul softmax silu embedding masked_fill ones".split()
# names that hold a view's name, and launch all the same
NEAR_VIEWS = "tril tanh topk transpose_copy select_scatter slice_scatter detach_copy view_copy expand_copy".split()
OF_A_STEP = (
    "add mul pow mean linear matmul softmax silu layer_norm cat repeat_interleave view transpose reshape to".split()
)
NO_OPERATORS = (
    "cudaLaunchKernel",
    "ProfilerStep#2",
    "mini_llm::silu_mul",
    "layer 3",
    "my_aten::add",
    "aten_fused::add",
)


def histogram(rng, names):
    return {f"aten::{name}": rng.randint(1, 40) for name in names}


# -- launching_calls ----------------------------------------------------------------------------------------------


def test_launching_calls_are_added_up(check, rng):
    """Every call of an operator launches, not only the first one."""
    cases = [({"aten::add": 2},), ({"aten::mul": 3, "aten::cat": 1},)]
    cases += [(histogram(rng, rng.sample(OTHERS, rng.randint(1, 9))),) for _ in range(8)]
    check.each("launching_calls", cases, oracle.launching_calls)


def test_launching_calls_without_views(check, rng):
    """A call of an operator that only describes memory anew launches nothing."""
    cases = [({"aten::add": 3, f"aten::{name}": rng.randint(1, 9)},) for name in VIEWS]
    controls = [(histogram(rng, rng.sample(OTHERS + VIEWS, 12)),) for _ in range(8)]
    nothing = [({},), (histogram(rng, rng.sample(VIEWS, 3)),)]
    check.each("launching_calls", cases + nothing, oracle.launching_calls, controls=controls)


def test_launching_calls_whole_names(check, rng):
    """The whole name decides: aten::tril is no aten::t, and mine::view is no aten::view."""
    cases = [({f"aten::{name}": rng.randint(2, 9)},) for name in NEAR_VIEWS]
    cases += [({"mini_llm::silu_mul": rng.randint(2, 9)},), ({f"mine::{rng.choice(VIEWS)}": 2},), ({"view": 3},)]
    cases += [(histogram(rng, rng.sample(NEAR_VIEWS, 4) + rng.sample(VIEWS, 3)),) for _ in range(5)]
    check.each("launching_calls", cases, oracle.launching_calls)


# -- top_level_operators ------------------------------------------------------------------------------------------


def calls(rng, events, thread, start, names, depth=0):
    """Adds some calls one after another from `start` on, each with calls inside it; when the last one ends."""
    now = start
    for _ in range(rng.randint(1, 3) if depth else rng.randint(2, 5)):
        begin = now + rng.randint(1, 3)
        inside = begin + rng.randint(1, 2)
        if depth < 2 and rng.random() < 0.6:
            inside = calls(rng, events, thread, inside, names, depth + 1)
        now = inside + rng.randint(1, 3)
        events.append((f"aten::{rng.choice(names)}", thread, float(begin), float(now)))
    return now


def test_top_level_operators_alone(check, rng):
    """What runs inside another operator is not counted, however deep it lies."""
    cases = [
        ([("aten::linear", 1, 0.0, 9.0), ("aten::t", 1, 1.0, 2.0), ("aten::addmm", 1, 3.0, 4.0)],),
        ([("aten::to", 1, 0.0, 9.0), ("aten::_to_copy", 1, 1.0, 8.0), ("aten::copy_", 1, 2.0, 3.0)],),
        ([("aten::cat", 1, -9.0, -7.0), ("aten::linear", 1, -5.0, 3.0), ("aten::t", 1, -1.0, 1.0)],),
    ]
    for _ in range(12):
        events = []
        calls(rng, events, 1, 0, rng.sample(OTHERS, 4))
        cases.append((sorted(events, key=lambda e: e[2]),))
    check.each("top_level_operators", cases, oracle.top_level_operators)


def test_top_level_operators_in_any_order(check, rng):
    """The order of the list means nothing: an inner event may come before its outer one, or long after it."""
    cases = [([("aten::t", 1, 1.0, 2.0), ("aten::linear", 1, 0.0, 9.0)],)]
    for _ in range(12):
        events = []
        calls(rng, events, 1, 0, rng.sample(OTHERS, 4))
        rng.shuffle(events)
        cases.append((events,))
    check.each("top_level_operators", cases, oracle.top_level_operators)


def test_top_level_operators_that_touch(check, rng):
    """An event may start or end together with the one it lies inside; two that only touch lie apart."""
    cases = [
        ([("aten::add", 1, 0.0, 2.0), ("aten::add", 1, 2.0, 4.0)],),
        ([("aten::to", 1, 0.0, 3.0), ("aten::copy_", 1, 0.0, 2.0)],),
        ([("aten::copy_", 1, 0.0, 2.0), ("aten::to", 1, 0.0, 3.0)],),
        ([("aten::to", 1, 0.0, 3.0), ("aten::copy_", 1, 1.0, 3.0)],),
    ]
    for _ in range(12):
        events = []
        for start in range(0, 10 * rng.randint(1, 4), 10):  # each has one at its start, one at its end, and a follower
            first, last = start + rng.randint(1, 4), start + rng.randint(5, 9)
            events.append((f"aten::{rng.choice(OTHERS)}", 1, float(start), start + 10.0))
            events.append(("aten::empty", 1, float(start), float(first)))
            events.append(("aten::copy_", 1, float(last), start + 10.0))
            events.append(("aten::fill_", 1, first + 0.25, first + 0.5))  # and one that touches nothing
        rng.shuffle(events)
        cases.append((events,))
    check.each("top_level_operators", cases, oracle.top_level_operators)


def test_top_level_operators_and_other_events(check, rng):
    """Only names that start with aten:: are counted, and none of them inside an event of another kind."""
    cases = [
        ([("ProfilerStep#2", 1, 0.0, 3.0), ("aten::add", 1, 5.0, 6.0)],),
        ([("aten_fused::add", 1, 0.0, 3.0), ("aten::add", 1, 5.0, 6.0)],),
        ([("mini_llm::silu_mul", 1, 0.0, 5.0), ("aten::mul", 1, 1.0, 2.0), ("aten::add", 1, 5.0, 6.0)],),
    ]
    for _ in range(12):
        events = []
        end = calls(rng, events, 1, 0, rng.sample(OTHERS, 4))
        for name in rng.sample(NO_OPERATORS, 3):
            inner = (f"aten::{rng.choice(OTHERS)}", 1, end + 2.0, end + 3.0)
            events += [(name, 1, end + 1.0, end + 4.0), inner]
            end += 5
        rng.shuffle(events)
        cases.append((events,))
    check.each("top_level_operators", cases, oracle.top_level_operators)


def test_top_level_operators_of_each_thread(check, rng):
    """Threads run side by side: an event lies only inside events of its own thread."""
    cases = [([("aten::linear", 1, 0.0, 9.0), ("aten::add", 2, 1.0, 2.0)],)]
    for _ in range(12):
        events = []
        names = rng.sample(OTHERS, 4)
        for thread in rng.sample(range(1, 9), 3):
            calls(rng, events, thread, rng.randint(0, 3), names)
        rng.shuffle(events)
        cases.append((events,))
    check.each("top_level_operators", cases, oracle.top_level_operators)


# -- count_operators ----------------------------------------------------------------------------------------------


def drawn(rng, most=9):
    return [rng.choice(OF_A_STEP) for _ in range(rng.randint(4, most))]


def counted(names):
    return dict(Counter(f"aten::{name}" for name in names))


def numbers(rng):
    return torch.tensor([[rng.random() for _ in range(4)] for _ in range(4)])


def test_count_operators_of_a_step(check, rng):
    """The top-level operators of a step, each as often as the step called it; what a mark holds is not top-level."""
    for _ in range(2):
        script = check.script()
        names = [*drawn(rng), "linear", "softmax"]
        count = script.make("count_operators", script.scene("step", names), numbers(rng), as_="count")
        script.ask_scene("histogram", count, want=counted(names))
        script.ask_scene("left_behind", want=[])


def test_count_operators_passes_arguments_on(check, rng):
    """Positional and keyword arguments reach the step."""
    script = check.script()
    names, also = drawn(rng), drawn(rng)
    step = script.scene("step", names)
    count = script.make("count_operators", step, numbers(rng), also=also, as_="count")
    script.ask_scene("histogram", count, want=counted(names + also))


def test_count_operators_runs_the_step_once(check, rng):
    """The step runs once, without gradients: a decode step of a model leaves one more token in its cache."""
    script = check.script()
    layers, tokens = rng.randint(1, 3), rng.randint(2, 6)
    model = script.scene("model", layers, bool(rng.randint(0, 1)) or layers == 1)
    cache = script.scene("filled_cache", model, torch.tensor([[rng.randint(0, 16) for _ in range(tokens)]]))
    script.make("count_operators", model, torch.tensor([[rng.randint(0, 16)]]), cache, as_="count")
    script.ask_scene("tokens_in", cache, want=tokens + 1)


def test_count_operators_of_a_model(check, rng):
    """A decode step of a model: norms, projections, rotation, attention, all of it and nothing else."""
    script = check.script()
    layers, tokens, qk_norm = rng.randint(1, 3), rng.randint(2, 6), bool(rng.randint(0, 1))
    model = script.scene("model", layers, qk_norm)
    cache = script.scene("filled_cache", model, torch.tensor([[rng.randint(0, 16) for _ in range(tokens)]]))
    count = script.make("count_operators", model, torch.tensor([[rng.randint(0, 16)]]), cache, as_="count")
    script.ask_scene("histogram", count, want=oracle.decode_step(layers, qk_norm))


def test_count_operators_when_a_step_fails(check, rng):
    """An error in the step reaches the caller, the profiler is stopped, and the next count is right again."""
    script = check.script()
    names, x = drawn(rng), numbers(rng)
    failing = script.scene("failing_step", names, f"no block for token {rng.randint(10, 99)}")
    script.refuses(None, "count_operators", failing, x, words=["no block"], error="ValueError")
    script.ask_scene("left_behind", want=[])
    count = script.make("count_operators", script.scene("step", names), x, as_="count")
    script.ask_scene("histogram", count, want=counted(names))
