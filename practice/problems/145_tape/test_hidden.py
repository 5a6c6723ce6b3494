"""Hidden tests of problem 145. Inputs are drawn for each run; the docstrings are shown to the learner.

An eager step that poses as a tape is right until the step's Python number changes, so it changes after each recording.
All tensors are on the CPU, where the tape is at home: the scene's `hold` puts them there.
"""

import oracle
import torch


def whole(rng, *shape):
    """Numbers drawn from 10 to 999."""
    count = torch.Size(shape).numel()
    return torch.tensor([float(rng.randint(10, 999)) for _ in range(count)]).reshape(shape)


def hold(script, *values, as_="x"):
    return [script.scene("hold", value, as_=as_) for value in values]


# --- written_tensors --------------------------------------------------------------------------------


def written(script, name, args, kwargs, named, want):
    """Asks which tensors the operator would write; the answer are their names."""
    op = script.scene("operator", name, as_=name.split(".")[0].rstrip("_"))
    found = script.make("written_tensors", op, args, kwargs, as_="written")
    script.ask_scene("names_of", found, named, want=sorted(want))


def test_written_tensors_in_place(check, rng):
    """An operator whose schema says `is_write` of an argument writes into it; any other only reads."""
    script = check.script()
    x, y = (hold(script, whole(rng, 3), as_=name)[0] for name in "xy")
    (i,) = hold(script, torch.tensor([0, 1]), as_="i")
    named = {"x": x, "y": y, "i": i}
    written(script, "add_.Tensor", [x, y], {}, named, ["x"])
    written(script, "add.Tensor", [y, x], {}, named, [])
    written(script, "copy_.default", [y, x, False], {}, named, ["y"])
    written(script, "index_put_.default", [x, [i], y], {}, named, ["x"])
    written(script, "t.default", [x], {}, named, [])


def test_written_tensors_by_keyword(check, rng):
    """Arguments can be given by name: an `out` is written, and so is a `self`."""
    script = check.script()
    x, y, z = (hold(script, whole(rng, 3), as_=name)[0] for name in "xyz")
    named = {"x": x, "y": y, "z": z}
    written(script, "add.out", [x, y], {"alpha": 2, "out": z}, named, ["z"])
    written(script, "mul_.Tensor", [], {"self": x, "other": y}, named, ["x"])
    written(script, "sort.values", [x], {"dim": 0, "values": z, "indices": y}, named, ["y", "z"])
    written(script, "sum.IntList_out", [x, [0]], {"keepdim": True, "out": y}, named, ["y"])


def test_written_tensors_in_lists(check, rng):
    """A list of tensors may be written as a whole; an argument that was left out, or is None, is no tensor."""
    script = check.script()
    a, b, c, d = (hold(script, whole(rng, 2), as_=name)[0] for name in "abcd")
    named = {"a": a, "b": b, "c": c, "d": d}
    written(script, "_foreach_add_.List", [[a, b], [c, d]], {}, named, ["a", "b"])
    written(script, "_foreach_mul_.Scalar", [[d, a, c], 2], {}, named, ["a", "c", "d"])
    batch_norm = [a, None, None, c, d, True, 0.5, 0.5]  # c and d are its running statistics
    written(script, "_native_batch_norm_legit.default", batch_norm, {}, named, ["c", "d"])
    written(script, "clamp_.default", [b, 1], {}, named, ["b"])


# --- run_again --------------------------------------------------------------------------------------


def test_run_again_writes_into_the_homes(check, rng):
    """The call computes with its arguments as they are now, and the result goes into the home's memory."""
    script = check.script()
    x, y, home = hold(script, whole(rng, 3), whole(rng, 3), torch.zeros(3))
    memory = script.scene("memory_of", home, as_="memory")
    call = script.scene("call", "sub.Tensor", x, y, homes=[home], alpha=3, as_="call")
    for _ in range(2):
        a, b = whole(rng, 3), whole(rng, 3)
        script.ask_scene("put", x, a, want=None)
        script.ask_scene("put", y, b, want=None)
        script.ask_call("run_again", call, want=None)
        script.ask_scene("read", home, want=a - 3 * b)
        script.ask_scene("read", memory, want=a - 3 * b)


def test_run_again_leaves_out_what_has_no_home(check, rng):
    """A home of None means that its result needs no copy: it lies in an argument's memory, or is no tensor."""
    script = check.script()
    value = whole(rng, 2)
    x, y, home = hold(script, value, whole(rng, 2), torch.zeros(2))
    adds = script.scene("call", "add_.Tensor", x, y, homes=[None], as_="call")
    script.ask_scene("put", y, torch.tensor([1.0, 2.0]), want=None)
    for n in (1, 2):
        script.ask_call("run_again", adds, want=None)
        script.ask_scene("read", x, want=value + n * torch.tensor([1.0, 2.0]))
    nothing = script.scene("call", "grow_by_one", x, homes=[None], as_="call")
    script.ask_call("run_again", nothing, want=None)
    script.ask_scene("read", x, want=value + torch.tensor([3.0, 5.0]))
    both = script.scene("call", "both", x, y, homes=[None, home], as_="call")
    script.ask_call("run_again", both, want=None)
    script.ask_scene("read", home, want=value + torch.tensor([2.0, 3.0]))


def test_run_again_goes_through_nests(check, rng):
    """A function may return a nest of dicts, lists and tuples: homes stand in the order of its leaves."""
    script = check.script()
    x, first, second = hold(script, whole(rng, 3), torch.zeros(1), torch.zeros(2))
    call = script.scene("call", "halves_of_double", x, homes=[first, second, None, None], as_="call")
    for _ in range(2):
        value = whole(rng, 3)
        script.ask_scene("put", x, value, want=None)
        script.ask_call("run_again", call, want=None)
        script.ask_scene("read", first, want=2 * value[:1])
        script.ask_scene("read", second, want=2 * value[1:])


# --- Tape -------------------------------------------------------------------------------------------


class Recorded:
    """A tape of one step of the scene, whose number is changed after the recording."""

    def __init__(self, check, rng, step, *values, state=None, pool=None, script=None):
        self.script, self.number = script or check.script(), rng.randint(2, 9)
        self.inputs = hold(self.script, *values)
        self.state = None if state is None else self.script.scene("hold", state, as_="cache")
        self.pool = pool or self.script.scene("pool")
        if step == "whole":
            self.step = self.script.scene("step_with_a_whole_function", self.number, as_="step")
        else:
            self.step = self.script.scene("step", step, number=self.number, state=self.state)
        self.tape = self.script.make("Tape", self.pool)
        self.output = self.script.keep(self.tape, "record", self.step, self.inputs, as_="output")
        self.script.ask_scene("change_number", self.step, self.number + 1, want=None)

    def replay(self, *values, want):
        """Puts other numbers into the inputs, replays, and looks at the output of the recording."""
        for x, value in zip(self.inputs, values, strict=True):
            self.script.ask_scene("put", x, value, want=None)
        self.script.ask(self.tape, "replay", want=None)
        self.script.ask_scene("read", self.output, want=want)


def test_Tape_replays_into_the_same_memory(check, rng):
    """A replay reads what is in the inputs now, and writes into the very tensors that the recording returned."""
    shape = rng.randint(2, 3), rng.randint(2, 4)
    recorded = Recorded(check, rng, "chain", whole(rng, *shape), whole(rng, *shape))
    for _ in range(3):
        x, y = whole(rng, *shape), whole(rng, *shape)
        recorded.replay(x, y, want=oracle.chain(x, y, recorded.number))


def test_Tape_keeps_python_values(check, rng):
    """Numbers, slices and branches are those of the recording, whatever becomes of the Python values."""
    recorded = Recorded(check, rng, "by_branch", whole(rng, 9))
    other = 2 if recorded.number > 2 else 7  # the other branch
    recorded.script.ask_scene("change_number", recorded.step, other, want=None)
    for _ in range(2):
        x = whole(rng, 9)
        recorded.replay(x, want=oracle.by_branch(x, recorded.number))


def test_Tape_takes_several_results(check, rng):
    """Operators with more than one result, results that share memory, and a nest of them come out right."""
    recorded = Recorded(check, rng, "several", whole(rng, 4))
    for _ in range(2):
        x = torch.tensor([float(v) for v in rng.sample(range(10, 999), 4)])
        recorded.replay(x, want=oracle.several(x, recorded.number))


def test_Tape_makes_tensors_anew(check, rng):
    """A tensor that the step makes (`zeros`, `arange`) and writes into starts from its first value in each replay."""
    recorded = Recorded(check, rng, "constants", whole(rng, 4))
    for _ in range(3):
        x = whole(rng, 4)
        recorded.replay(x, want=oracle.constants(x, recorded.number))


def test_Tape_computes_nothing_while_it_records(check, rng):
    """A recording leaves all else as before, memory of another tape too, also when it fails; results are garbage."""
    start, x, rows = whole(rng, 3, 2), whole(rng, 2, 2), torch.tensor(rng.sample(range(3), 2))
    recorded = Recorded(check, rng, "writing", x, rows, state=start)
    script = recorded.script
    script.ask_scene("read", recorded.state, want=start)
    script.ask_scene("is_garbage", recorded.output, want=True)
    cache = oracle.Cache(start, recorded.number)
    output = cache.step(x, rows)
    recorded.replay(x, rows, want=output)
    second = script.make("Tape", recorded.pool)  # its input lies in the pool, and yet is no memory of its own
    script.keep(second, "record", script.scene("step", "writing_in_place", number=3), [recorded.output], as_="more")
    script.ask_scene("read", recorded.output, want=output)
    script.ask(second, "replay", want=None)
    script.ask_scene("read", recorded.output, want=3 * output)
    number = rng.randint(0, 10**6)
    script.ask_scene("seed", number, want=None)
    failing = script.scene("step", "failing", number=1, state=recorded.state)
    tape = script.make("Tape", recorded.pool)
    script.ask_scene("error_of", tape, failing, recorded.inputs, want="ArithmeticError: this step cannot run")
    script.ask_scene("read", recorded.state, want=cache.value)
    script.ask_scene("draw", 2, want=torch.rand(2, generator=torch.Generator().manual_seed(number)))
    other = Recorded(check, rng, "chain", x, x, pool=recorded.pool, script=script)
    script.ask_scene("is_garbage", other.output, want=True)


def test_Tape_replays_writes(check, rng):
    """What the step writes into memory of others, a cache, is written again by each replay."""
    n, width, places = rng.randint(4, 5), rng.randint(2, 3), torch.tensor(rng.sample(range(4), 2))
    start = whole(rng, n, width)
    recorded = Recorded(check, rng, "writing", whole(rng, 2, width), places, state=start)
    cache = oracle.Cache(start, recorded.number)
    for _ in range(2):
        x, rows = whole(rng, 2, width), torch.tensor(rng.sample(range(n), 2))
        recorded.replay(x, rows, want=cache.step(x, rows))
        recorded.script.ask_scene("read", recorded.state, want=cache.value)


def test_Tape_knows_memory_not_tensors(check, rng):
    """A call is about memory and a shape: what becomes of a tensor object changes nothing, and views are no calls."""
    recorded = Recorded(check, rng, "reshaping", whole(rng, 2, 3))
    x = whole(rng, 2, 3)
    recorded.replay(x, want=oracle.reshaping(x, recorded.number))
    memory = recorded.script.scene("memory_of", recorded.inputs[0], as_="memory")
    recorded.script.ask_scene("give_other_memory", recorded.inputs[0], whole(rng, 2, 3), want=None)
    y = whole(rng, 2, 3)
    recorded.script.ask_scene("put", memory, y, want=None)
    recorded.replay(whole(rng, 2, 3), want=oracle.reshaping(y, recorded.number))
    recorded.script.ask_scene("views_in_a_replay", recorded.tape, want=[])


def test_Tape_refuses_host_reads(check, rng):
    """A step that reads a value on the host is refused by name, and leaves memory and everything else as it was."""
    names = {
        "asks_for_item": "Tensor.item",
        "asks_for_list": "Tensor.tolist",
        "asks_for_branch": "Tensor.__bool__",
        "asks_for_nonzero": "Tensor.nonzero",
        "asks_for_numpy": "Tensor.numpy",
    }
    script = check.script()
    pool, value = script.scene("pool"), whole(rng, 3)
    (x,) = hold(script, value)
    for step, operator in rng.sample(sorted(names.items()), len(names)):
        tape = script.make("Tape", pool)
        script.ask_scene("refusal", tape, script.scene("step", step), [x], want=operator)
        script.ask_scene("read", x, want=value)
        script.ask_scene("state_of_the_tape", tape, want=False)
    recorded = Recorded(check, rng, "constants", value, script=script)
    recorded.replay(value + 1, want=oracle.constants(value + 1, recorded.number))


def test_Tape_draws_random_numbers_at_each_replay(check, rng):
    """A recording draws no random numbers; each replay draws what an eager step would draw now."""
    number, n = rng.randint(0, 10**6), rng.randint(3, 6)
    numbers = torch.Generator().manual_seed(number)
    script = check.script()
    script.ask_scene("seed", number, want=None)
    recorded = Recorded(check, rng, "random_numbers", torch.zeros(n), script=script)
    script.ask_scene("draw", n, want=torch.rand(n, generator=numbers))
    for _ in range(2):
        x = whole(rng, n)
        want = x + torch.rand(n, generator=numbers) * recorded.number
        recorded.replay(x, want=want)


def test_Tape_takes_other_generators(check, rng):
    """A generator in `generators` is put back like the default one, and each replay draws from it."""
    seed, number, n = rng.randint(0, 10**6), rng.randint(2, 9), rng.randint(3, 6)
    numbers = torch.Generator().manual_seed(seed)
    script = check.script()
    generator = script.scene("generator", seed, as_="generator")
    (x,) = hold(script, torch.zeros(n))
    step = script.scene("step", "numbers_of_a_generator", number=number, state=generator)
    tape = script.make("Tape", script.scene("pool"), generators=[generator])
    output = script.keep(tape, "record", step, [x], as_="output")
    script.ask_scene("draw", n, generator, want=torch.rand(n, generator=numbers))
    script.ask_scene("change_number", step, number + 1, want=None)
    for _ in range(2):
        value = whole(rng, n)
        script.ask_scene("put", x, value, want=None)
        script.ask(tape, "replay", want=None)
        script.ask_scene("read", output, want=value + torch.rand(n, generator=numbers) * number)


def test_Tape_gives_memory_back(check, rng):
    """Memory of a tensor that the step dropped serves the next one: forty results of a chain fit into three blocks."""
    for step in ("deep", "deep_in_place"):
        recorded = Recorded(check, rng, step, whole(rng, 1024))
        recorded.script.ask_scene("holds_memory", recorded.pool, want=True)
        recorded.script.ask_scene("holds_at_most", recorded.pool, 3, want=True)
        for _ in range(2):
            x = whole(rng, 1024)
            recorded.script.ask_scene("spoil", recorded.pool, want=None)
            recorded.replay(x, want=x + 40 * recorded.number)


def test_Tape_takes_a_function_whole(check, rng):
    """What `opaque` wraps is recorded as one call by `note`, and runs again in each replay."""
    recorded = Recorded(check, rng, "whole", whole(rng, 3))
    for _ in range(2):
        x = whole(rng, 3)
        recorded.replay(x, want=2 * x * recorded.number + x + x.max())


def test_Tape_replays_in_the_mode_of_the_recording(check, rng):
    """A step that was recorded in inference mode can be replayed from outside of it."""
    script, number = check.script(), rng.randint(2, 9)
    x, y = hold(script, whole(rng, 2, 3), whole(rng, 2, 3))
    step = script.scene("step", "chain", number=number)
    tape = script.make("Tape", script.scene("pool"))
    output = script.scene("record_in_inference_mode", tape, step, [x, y], as_="output")
    script.ask_scene("change_number", step, number + 1, want=None)
    for _ in range(2):
        a, b = whole(rng, 2, 3), whole(rng, 2, 3)
        script.ask_scene("put", x, a, want=None)
        script.ask_scene("put", y, b, want=None)
        script.ask(tape, "replay", want=None)
        script.ask_scene("read", output, want=oracle.chain(a, b, number))
