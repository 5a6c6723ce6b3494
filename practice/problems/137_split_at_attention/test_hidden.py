"""Hidden tests of problem 137. Inputs are drawn for each run; the docstrings are shown to the learner.

What a forger could still do: the scene runs in the learner's process and reads the pieces there, so code that goes
after the scene can say what it likes about their form. The tensors that come back are of inputs drawn here.
"""

import oracle
import torch

OPERATORS = ("add", "mul", "norm", "matmul", "attention")


def draw_calls(rng, operators, given=("x", "w")):
    """Calls of these operators; each reads one to three of the values that are there by then."""
    there, calls = list(given), []
    for i, operator in enumerate(operators):
        reads = [rng.choice(there[-4:] if rng.random() < 0.7 else there) for _ in range(rng.randint(1, 3))]
        calls.append((f"{operator}_{i}", operator, reads))
        there.append(f"{operator}_{i}")
    return calls


def draw_operators(rng, low=3, high=12):
    return [rng.choice(OPERATORS) for _ in range(rng.randint(low, high))]


def plain(rng, count):
    """That many operators, none of them attention."""
    return [rng.choice(OPERATORS[:-1]) for _ in range(count)]


# --- piece_numbers --------------------------------------------------------------------------------


def test_piece_numbers_cuts_at_each_call(check, rng):
    """Each call of the operator is a piece of its own, and all calls between two of them are one piece."""
    shapes = [[1, 1], [2, 1], [2, 2, 2]] + [[rng.randint(1, 3) for _ in range(rng.randint(2, 4))] for _ in range(10)]
    cases = []
    for shape in shapes:
        operators = plain(rng, shape[0])
        for count in shape[1:]:
            operators += ["attention", *plain(rng, count)]
        cases.append((draw_calls(rng, operators), "attention"))
    check.each("piece_numbers", cases, oracle.piece_numbers)


def test_piece_numbers_of_neighbours(check, rng):
    """Two calls of the operator in a row are two pieces, with no empty piece between them."""
    cases = []
    for n in [2, 3, *(rng.randint(2, 4) for _ in range(6))]:
        operators = [*plain(rng, rng.randint(1, 2)), *["attention"] * n, *plain(rng, rng.randint(1, 2))]
        cases.append((draw_calls(rng, operators), "attention"))
    check.each("piece_numbers", cases, oracle.piece_numbers)


def test_piece_numbers_at_the_ends(check, rng):
    """A call of the operator may be the first or the last of all: pieces count from 0, and none is empty."""
    cases = []
    for first, last in ((1, 0), (0, 1), (1, 1), (2, 2), (1, 3)):
        operators = ["attention"] * first + plain(rng, rng.randint(1, 3)) + ["attention"] * last
        cases.append((draw_calls(rng, operators), "attention"))
    check.each("piece_numbers", cases, oracle.piece_numbers)


def test_piece_numbers_without_the_operator(check, rng):
    """Without a call of the operator all is one piece, and no calls are no pieces."""
    cases = [([], "attention"), (draw_calls(rng, ["add"]), "attention")]
    cases += [(draw_calls(rng, plain(rng, rng.randint(2, 6))), "attention") for _ in range(4)]
    cases += [(draw_calls(rng, ["add", "attention", "mul", "attention"]), rng.choice(["mul", "add"]))]
    check.each("piece_numbers", cases, oracle.piece_numbers)


# --- crossing_values ------------------------------------------------------------------------------


def with_numbers(calls, results):
    return calls, oracle.piece_numbers(calls, "attention"), results


def draw_step(rng, **options):
    calls = draw_calls(rng, draw_operators(rng, **options))
    return with_numbers(calls, [calls[-1][0]])


def test_crossing_values_inputs(check, rng):
    """A piece takes in what it reads and does not make: each name once, in the order of first use."""
    cases = [draw_step(rng) for _ in range(20)]
    calls = [("a", "add", ["x", "y", "x"]), ("b", "attention", ["a", "w", "a"]), ("c", "mul", ["y", "b", "x", "y"])]
    check.each("crossing_values", [with_numbers(calls, ["c"]), *cases], oracle.crossing_values)


def test_crossing_values_outputs(check, rng):
    """A piece hands on only what others need, in the order it was made: a value that nobody else reads stays inside."""
    cases = []
    for _ in range(10):
        operators = [*plain(rng, rng.randint(3, 5)), "attention", *plain(rng, rng.randint(2, 3))]
        calls = draw_calls(rng, operators)
        cut = operators.index("attention")
        calls[cut] = (calls[cut][0], "attention", [name for name, _, _ in rng.sample(calls[:cut], 2)])
        cases.append(with_numbers(calls, [calls[-1][0]]))
    calls = [("a", "add", ["x"]), ("b", "mul", ["a"]), ("c", "attention", ["b"]), ("d", "add", ["c"])]
    check.each("crossing_values", [with_numbers(calls, ["d"]), *cases], oracle.crossing_values)


def test_crossing_values_skip_pieces(check, rng):
    """A value that skips pieces goes from the piece that makes it to those that read it; the others do not see it."""
    cases = []
    for skipped in [1, 2, 3, *(rng.randint(2, 4) for _ in range(4))]:
        calls = [("early", "mul", ["x", "w"]), ("v0", "add", ["early", "x"])]
        for i in range(skipped):
            calls.append((f"v{2 * i + 1}", "attention", [f"v{2 * i}"]))
            calls.append((f"v{2 * i + 2}", "norm", [f"v{2 * i + 1}", "w"]))
        calls += [("late", "attention", [calls[-1][0]]), ("end", "add", ["late", rng.choice(["early", "v0"])])]
        cases.append(with_numbers(calls, ["end"]))
    check.each("crossing_values", cases, oracle.crossing_values)


def test_crossing_values_results(check, rng):
    """What the step returns comes out of the piece that makes it, if any does; without calls there is no piece."""
    cases = []
    for _ in range(12):
        calls = draw_calls(rng, [*draw_operators(rng, 2, 4), "attention", *draw_operators(rng, 1, 4)])
        names = [name for name, _, _ in calls]
        results = rng.sample([*names[:-1], "x"], 2) + [names[-1]]
        cases.append(with_numbers(calls, results))
    calls = [("a", "add", ["x"]), ("b", "attention", ["x"]), ("c", "mul", ["b"])]
    cases.append(with_numbers([], ["x"]))
    check.each("crossing_values", [with_numbers(calls, ["a", "c", "x"]), *cases], oracle.crossing_values)


# --- last_uses ------------------------------------------------------------------------------------


def crossing_of(calls, results):
    return oracle.crossing_values(*with_numbers(calls, results)), results


def draw_crossing(rng, results):
    calls = draw_calls(rng, [*draw_operators(rng, 3, 8), "attention", "add", "attention", "mul"])
    names = [name for name, _, _ in calls]
    return crossing_of(calls, [names[-1], *rng.sample(names[:-1], results)])


def test_last_uses_after_the_last_reader(check, rng):
    """A value is free after the last piece that reads it, and not before."""
    calls = [("a", "add", ["x"]), ("b", "attention", ["a"]), ("c", "mul", ["b", "a"]), ("d", "attention", ["a", "c"])]
    fixed = crossing_of([*calls, ("e", "add", ["d", "c"])], ["e"])
    check.each("last_uses", [fixed, *(draw_crossing(rng, 0) for _ in range(12))], oracle.last_uses)


def test_last_uses_leaves_what_was_given(check, rng):
    """What no piece made is never free: inputs and weights belong to others."""
    cases = []
    for _ in range(5):
        weights = [f"w{i}" for i in range(rng.randint(2, 4))]
        calls = [
            ("a", "mul", ["x", *weights]),
            ("b", "attention", ["a"]),
            ("c", "add", ["x", rng.choice(weights), "b"]),
        ]
        cases.append(crossing_of(calls, ["c"]))
    check.each("last_uses", cases, oracle.last_uses)


def test_last_uses_leaves_results(check, rng):
    """What the step returns is never free, however early it was made."""
    calls = [("a", "add", ["x"]), ("b", "attention", ["a"]), ("c", "mul", ["b"]), ("d", "attention", ["c"])]
    fixed = crossing_of(calls, ["a", "d"])
    cases = [draw_crossing(rng, rng.randint(1, 3)) for _ in range(12)]
    check.each("last_uses", [fixed, ([], ["x"]), *cases], oracle.last_uses)


# --- split_at -------------------------------------------------------------------------------------


def draw_lines(rng, operators):
    """Lines that read x, y and w and what lines before them made, and what the last one is called."""
    there, lines = ["x", "y", "w"], []
    for i, operator in enumerate(operators):
        a, b = (rng.choice(there[-3:] if rng.random() < 0.6 else there) for _ in range(2))
        lines.append(f"v{i} = {operator}({a})" if operator == "relu" else f"v{i} = {operator}({a}, {b})")
        there.append(f"v{i}")
    return lines, there[-1]


def tensors(rng, *names):
    return {name: torch.tensor([rng.choice((-3, -2, -1, 1, 2, 3)) / 2 for _ in range(3)]) for name in names}


def make(script, lines, returns, weights=None):
    return script.scene("traced_step", lines, inputs=["x", "y"], returns=returns, weights=weights or {}, as_="step")


def ask_about_pieces(script, step, lines, given, returns):
    for what, want in oracle.pieces(lines, given, returns).items():
        script.ask_scene("of_each_piece", step, what, want=want)


def agree(script, rng, step, lines, returns, weights):
    """The pieces do what the whole does, for inputs drawn twice; and the whole is left as it was."""
    for _ in range(2):
        values = tensors(rng, "x", "y")
        want = oracle.run(lines, values | weights, returns)
        script.ask_scene("run_in_pieces", step, values, want=want)
    script.ask_scene("run_whole", step, values, want=want)


# Before a step with something special: whoever gets this one wrong has made another mistake.
ORDINARY = ["a = add(x, y)", "b = relu(a)", "c = attention(a, x)", "d = add(c, b)"]
SHAPES = (
    ["add", "attention", "mul"],
    ["attention", "add"],
    ["mul", "attention", "attention", "relu"],
    ["attention", "relu", "add", "attention"],
    ["add", "mul", "relu"],
)


def test_split_at_pieces(check, rng):
    """The pieces hold the calls of the step in its order, and know what goes in, what comes out and what is free."""
    for operators in (*SHAPES, *([rng.choice(SHAPES[2] + ["add"]) for _ in range(9)] for _ in range(3)), []):
        lines, last = draw_lines(rng, operators)
        weights = tensors(rng, "w")
        script = check.script()
        step = make(script, lines, [last], weights)
        ask_about_pieces(script, step, lines, {"x", "y", "w"}, [last])


def test_split_at_same_tensors(check, rng):
    """Run one after another, the pieces give what the whole step gives, and the whole step itself is left as it was."""
    for operators in (*SHAPES, *([rng.choice(SHAPES[2] + ["add"]) for _ in range(9)] for _ in range(3))):
        lines, last = draw_lines(rng, operators)
        returns = [last] if rng.random() < 0.5 else [rng.choice(lines).split(" = ")[0], "y", last]
        returns = list(dict.fromkeys(returns))
        weights = tensors(rng, "w")
        script = check.script()
        agree(script, rng, make(script, lines, returns, weights), lines, returns, weights)


def test_split_at_keeps_changes_in_place(check, rng):
    """A call that changes memory stays where it stands, also when nobody reads its result."""
    n, m = rng.randint(2, 9), rng.randint(2, 9)
    shapes = [
        ["a = add(x, y)", f"b = a.add_({n})", "c = attention(b, y)", f"d = a.mul_({m})", "e = add(a, c)"],
        ["a = mul(x, y)", "b = attention(a, x)", f"c = a.mul_({n})", "d = attention(a, b)", "e = add(d, b)"],
        [f"a = x.add_({n})", "b = attention(x, y)", f"c = x.mul_({m})", f"d = y.add_({m})", "e = attention(x, b)"],
        ["a = attention(x, y)", f"b = y.mul_({n})", "c = attention(x, y)", "d = attention(c, a)", "e = mul(d, y)"],
    ]
    for lines in shapes:
        script = check.script()
        agree(script, rng, make(script, ORDINARY, ["d"]), ORDINARY, ["d"], {})
        step = make(script, lines, ["e"])
        agree(script, rng, step, lines, ["e"], {})
        ask_about_pieces(script, step, lines, {"x", "y"}, ["e"])


def test_split_at_nested_arguments(check, rng):
    """A call may read values from inside a list, and by keyword."""
    n = rng.randint(2, 9)
    shapes = [
        ["a = relu(x)", "b = attention(a, y)", "c = cat([b, a, x], dim=0)", "d = mul(c, c)"],
        [f"a = add(input=x, other=y, alpha={n})", "b = attention(q=a, k=x)", f"c = add(b, x, alpha={n})",
         "d = add(c, other=a)"],
        ["a = mul(x, x)", "b = cat([a, x])", "c = attention(b, k=b)", "d = cat(tensors=[c, y, a])"],
    ]  # fmt: skip
    for lines in shapes:
        script = check.script()
        for some in (ORDINARY, lines):
            agree(script, rng, make(script, some, ["d"]), some, ["d"], {})


def test_split_at_weights_are_inputs(check, rng):
    """A weight that the step holds is an input of the pieces that read it, by the name of its node."""
    lines = ["a = mul(x, w0)", "b = add(a, w1)", "c = attention(b, w1)", "d = mul(c, w2)", "e = add(d, w0)"]
    for _ in range(2):
        weights = tensors(rng, "w0", "w1", "w2")
        script = check.script()
        step = make(script, lines, ["e"], weights)
        ask_about_pieces(script, step, lines, {"x", "y", *weights}, ["e"])
        agree(script, rng, step, lines, ["e"], weights)


def test_split_at_equal_code(check, rng):
    """Pieces that do the same have the same code, whatever their values are called: then they are compiled once."""
    for layers in (3, rng.randint(4, 6)):
        n = rng.randint(2, 9)
        lines, weights = [f"r0 = mul(x, {n})"], {}
        for i in range(layers):
            weights |= tensors(rng, f"p{i}", f"o{i}")
            lines += [f"q{i} = mul(r{i}, p{i})", f"t{i} = attention(q{i}, r{i})", f"m{i} = mul(t{i}, o{i})"]
            lines += [f"r{i + 1} = add(r{i}, m{i})"]
        lines.append(f"z = relu(r{layers})")
        script = check.script()
        step = make(script, lines, ["z"], weights)
        want = [0, *[1, 2] * (layers - 1), 1, 2 * layers]
        script.ask_scene("same_code", step, want=want)


def test_split_at_keeps_meta(check, rng):
    """Every node of a piece, its placeholders too, has a copy of the `meta` of the node that it stands for."""
    for operators in (SHAPES[0], SHAPES[2], [rng.choice(SHAPES[2] + ["add"]) for _ in range(6)]):
        lines, last = draw_lines(rng, operators)
        calls = oracle.calls_of(lines, {"x", "y", "w", *(line.split(" = ")[0] for line in lines)})
        numbers = oracle.piece_numbers(calls, "attention")
        want = []
        for i, (inputs, _) in enumerate(oracle.crossing_values(calls, numbers, [last])):
            made = [call[0] for call, number in zip(calls, numbers, strict=True) if number == i]
            want.append([sorted(f"the shape of {name}" for name in side) for side in (inputs, made)])
        script = check.script()
        step = make(script, lines, [last], tensors(rng, "w"))
        script.ask_scene("meta_of", step, want=want)
        names = ["x", "y", "w", *(line.split(" = ")[0] for line in lines)]
        script.ask_scene("meta_of_the_step", step, want={n: {"val": f"the shape of {n}"} for n in names})
