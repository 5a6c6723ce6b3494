"""Hidden tests of problem 140. Inputs are drawn for each run; the docstrings are shown to the learner.

Which code served a call is seen in the numbers that come back: the backend adds a mark to them. What a forger could
still do: the backend is an object in the learner's process, so code that goes after it can make the marks itself.
"""

import copy

import oracle
import torch

# --- cache_key --------------------------------------------------------------------------------------


def draw_settings(rng):
    """Such settings as an engine has, nested."""
    model = {"hidden_size": rng.choice([64, 576, 1024]), "layers": rng.randint(2, 40), "theta": rng.choice([1e4, 1e6])}
    return {
        "model": model | {"heads": [rng.randint(8, 16), rng.randint(1, 8)], "qk_norm": rng.random() < 0.5},
        "dtype": rng.choice(["bfloat16", "float16", "float32"]),
        "torch": f"2.{rng.randint(9, 13)}.{rng.randint(0, 1)}",
        "compile_sizes": rng.sample([1, 2, 4, 8, 16], 3),
        "passes": {"fuse_norm": rng.random() < 0.5, "eps": rng.choice([1e-5, 1e-6]), "level": None},
        "source": "".join(rng.choice("0123456789abcdef") for _ in range(8)),
        "port": rng.randint(8000, 8999),
    }


def changed(rng, value):
    """Another value of the same type; of a dict or a list, one with another part."""
    value = copy.deepcopy(value)
    if type(value) is dict or type(value) is list:
        place = rng.choice(list(value) if type(value) is dict else range(len(value)))
        value[place] = changed(rng, value[place])
        return value
    if value is None:
        return rng.randint(1, 3)
    if type(value) is bool:
        return not value
    if type(value) is str:
        return value[:-1] + ("0" if value[-1] != "0" else "1")
    return value + 1 if type(value) is int else value * (1 + 1e-9)


def shuffled(rng, value):
    """The same, every dict in another order."""
    if type(value) is list:
        return [shuffled(rng, part) for part in value]
    if type(value) is not dict:
        return value
    names = list(value)
    while len(names) > 1 and names == list(value):
        rng.shuffle(names)
    return {name: shuffled(rng, value[name]) for name in names}


def ask(check, cases, controls=()):
    check.each("same_key", cases, oracle.same_key, controls=controls, scene=True)


def test_cache_key_each_setting_counts(check, rng):
    """Another value of any setting, also deep inside another one, gives another key; equal settings give the same."""
    cases = [({"dtype": "bfloat16"}, {"dtype": "float16"}), ({"eps": 1e-6}, {"eps": 1.0000001e-6}), ({"a": 1}, {})]
    for _ in range(3):
        settings = draw_settings(rng)
        cases.append((settings, copy.deepcopy(settings)))
        for name in settings:
            cases.append((settings, settings | {name: changed(rng, settings[name])}))
        cases.append((settings, settings | {"new": rng.choice([None, False, 0])}))
    ask(check, cases)


def test_cache_key_order_of_names(check, rng):
    """The order in which settings were written down makes no difference, not in nested ones either."""
    cases, controls = [({"a": 1, "b": 2}, {"b": 2, "a": 1})], []
    for _ in range(6):
        settings = draw_settings(rng)
        cases.append((settings, shuffled(rng, settings)))
        controls.append((settings, shuffled(rng, settings | {"dtype": changed(rng, settings["dtype"])})))
    ask(check, cases, controls)


def test_cache_key_order_of_lists(check, rng):
    """The order of a list counts: it may be an order of work. A tuple counts as a list."""
    cases, controls = [({"passes": ["fuse", "split"]}, {"passes": ["split", "fuse"]})], []
    for _ in range(6):
        settings = draw_settings(rng)
        sizes = settings["compile_sizes"]
        cases.append((settings, settings | {"compile_sizes": sizes[::-1]}))
        cases.append((settings, settings | {"compile_sizes": [*sizes, sizes[-1]]}))
        cases.append((settings, settings | {"compile_sizes": tuple(sizes)}))
        controls.append((settings, settings | {"compile_sizes": list(sizes)}))
    ask(check, cases, controls)


def test_cache_key_kinds_of_values(check, rng):
    """Values of different types are different, though Python may print them alike or call them equal."""
    n = rng.randint(2, 9)
    alike = [[n, str(n), float(n), [n]], [1, True, 1.0, "1", "True"], [0, False, 0.0, None, "", [], {}, "None", "null"]]
    cases = []
    for kinds in alike:
        pairs = [(a, b) for i, a in enumerate(kinds) for b in kinds[i + 1 :]]
        cases += [({"level": a}, {"level": b}) for a, b in pairs]
    cases += [({"level": kinds[0]}, {}) for kinds in alike]
    ask(check, cases, controls=[({"level": a}, {"level": a}) for kinds in alike for a in kinds])


def test_cache_key_where_a_value_ends(check, rng):
    """Where one name or value ends and the next begins counts, whatever signs they hold."""
    a, b = ("".join(rng.choice("abcdefgh") for _ in range(3)) for _ in range(2))
    cases = [
        ({"x": "ab", "y": "c"}, {"x": "a", "y": "bc"}),
        ({"ab": "c"}, {"a": "bc"}),
        ({"x": [1, 23]}, {"x": [12, 3]}),
        ({"x": [a, b]}, {"x": [a + b]}),
        ({"x": [[a], [b]]}, {"x": [[a, b]]}),
        ({"x": {"y": 1}, "z": 2}, {"x": {"y": 1, "z": 2}}),
        ({"x": {"y": 1}, "z": {"y": 2}}, {"x": {"y": 2}, "z": {"y": 1}}),
    ]
    for sign in ",;:=|_ &\n":
        cases += [({"x": f"{a}{sign}{b}"}, {"x": [a, b]}), ({"x": a, "y": b}, {"x": f"{a}{sign}y{sign}{b}"})]
    cases += [({"x": f"{a}', 'y': '{b}"}, {"x": a, "y": b}), ({"x": f'{a}", "y": "{b}'}, {"x": a, "y": b})]
    ask(check, cases, controls=[({"x": [a, b]}, {"x": [a, b]})])


def test_cache_key_ignored(check, rng):
    """Settings that are named in `ignored` make no difference, neither their value nor whether they are there."""
    cases = [({"port": 1, "dtype": "x"}, {"port": 2, "dtype": "x"}, ["port"]), ({"port": 1}, {}, ["port", "seed"])]
    for _ in range(3):
        settings = draw_settings(rng)
        ignored = ["port", "served_name", rng.choice(["source", "torch"])]
        for name in settings:
            cases.append((settings, settings | {name: changed(rng, settings[name])}, ignored))
        inside = settings | {"passes": settings["passes"] | {"port": 5}}
        cases.append((settings, inside, ignored))
        cases.append((settings, {k: v for k, v in settings.items() if k != "port"} | {"served_name": "a"}, ignored))
    ask(check, cases)


def test_cache_key_in_every_process(check, rng):
    """The key is the same in every process: Python's own `hash` of a text is another one at each start."""
    cases = [({"dtype": "bfloat16"},), *((draw_settings(rng),) for _ in range(3))]
    check.each("same_key_in_another_process", cases, oracle.yes, scene=True)
    settings = draw_settings(rng)
    ask(check, [(settings, settings | {"torch": changed(rng, settings["torch"])})])


def test_cache_key_names_a_folder(check, rng):
    """The key is a str of 8 to 64 letters, digits, - or _, and thousands of settings have different ones."""
    cases = [({},), *((draw_settings(rng),) for _ in range(3))]
    check.each("can_name_a_folder", cases, oracle.yes, scene=True)
    settings, count = draw_settings(rng), rng.randint(1900, 2000)
    check.each("different_keys", [(settings, "port", count)], lambda *_: count, scene=True)


def test_cache_key_refuses_objects(check, rng):
    """A value of another type is refused with a TypeError: its text may hold an address, which is never the same."""
    script = check.script()
    hook = script.scene("hook", as_="hook")
    settings = draw_settings(rng)
    script.ask_scene("same_key", settings, settings, want=True)
    script.refuses(None, "cache_key", {"model": "m", "hook": hook}, words=["TypeError"])
    script.refuses(None, "cache_key", settings | {"passes": {"hooks": [hook]}}, words=["TypeError"])


# --- compile_once -----------------------------------------------------------------------------------


def whole(rng, *shape):
    count = torch.Size(shape).numel()
    return torch.tensor([float(rng.randint(-2, 2)) for _ in range(count)]).reshape(shape)


class Once:
    """Steps of one kind, compiled by themselves, and the calls that they serve."""

    def __init__(self, check, rng, count=1, sizes=None, width=3):
        self.rng, self.sizes, self.width, self.script = rng, sizes or [], width, check.script()
        self.scales = [rng.randint(2, 4) for _ in range(count)]
        options = {} if sizes is None else {"compile_sizes": sizes}
        if count == 1:
            step = self.script.scene("step", self.scales[0], as_="step")
            backend = self.script.scene("marking_backend", as_="backend")
            self.compiled = self.script.make("compile_once", step, backend, **options, as_="compiled")
        else:
            steps = self.script.scene("steps", self.scales, as_="steps")
            self.compiled = self.script.scene("each_compiled", steps, as_="compiled")
        self.one = count == 1

    def call(self, rows, number=0):
        """The code that must serve this call is that for its size if there is one, else that for any number."""
        x, w, b = whole(self.rng, rows, self.width), whole(self.rng, self.width, 2), whole(self.rng, 2)
        want = oracle.step(x, w, b, self.scales[number], rows if rows in (1, *self.sizes) else None)
        if self.one:
            self.script.ask(self.compiled, "", x, w, b, want=want)
        else:
            self.script.ask_scene("call", self.compiled, number, x, w, b, want=want)


def test_compile_once_all_sizes_share_code(check, rng):
    """Code that is made at the first call, whatever its number of rows, serves every number of rows from 2 on."""
    for first in (3, rng.randint(4, 30)):  # 3 is also the width: a coincidence must not tie the two
        once = Once(check, rng)
        for rows in (first, *rng.sample(range(2, 40), 4), first):
            once.call(rows)


def test_compile_once_one_row(check, rng):
    """One row has code of its own, made once, whether it comes first or later."""
    for sizes in ([1, rng.randint(2, 9), 1, 2], [rng.randint(3, 9), 1, 1, rng.randint(10, 20)]):
        once = Once(check, rng)
        for rows in sizes:
            once.call(rows)


def test_compile_once_other_sizes_stay_numbers(check, rng):
    """Only the number of rows is a symbol: the compiler knows every other size as a number."""
    width = rng.choice((2, 4, 5))
    once = Once(check, rng, width=width)
    for rows in (width, rng.randint(8, 20)):
        once.call(rows)


def test_compile_once_chosen_sizes(check, rng):
    """Each size in `compile_sizes` has code of its own, for exactly that number of rows; the others share theirs."""
    sizes = rng.sample(range(2, 12), 2)
    others = [n for n in range(2, 14) if n not in sizes]
    once = Once(check, rng, sizes=sizes)
    for rows in (sizes[0], rng.choice(others), *sizes, sizes[0], rng.choice(others), 1):
        once.call(rows)


def test_compile_once_more_than_eight_sizes(check, rng):
    """However many sizes are chosen, all of them are compiled, and none runs eagerly."""
    sizes = rng.sample(range(2, 30), 9)
    once = Once(check, rng, sizes=sizes)
    for rows in (31, rng.randint(32, 40), *sizes, sizes[0], sizes[-1], 30):
        once.call(rows)


def test_compile_once_more_than_eight_steps(check, rng):
    """However many functions come from the same lines of code, as layers do, all of them are compiled."""
    once = Once(check, rng, count=9)
    for number in range(9):
        once.call(rng.randint(2, 20), number)
    for number in rng.sample(range(9), 3):
        once.call(rng.randint(2, 20), number)


def test_compile_once_leaves_no_mark(check, rng):
    """The tensors of a call stay as they are: another compiled function may get the very same x."""
    rows, scale, script = rng.randint(3, 12), rng.randint(2, 4), check.script()
    given, own = whole(rng, rows, 3), [whole(rng, rows + more, 3) for more in (1, 2)]
    x = script.scene("kept", given, as_="x")
    for name, others in (("any", []), ("chosen", own)):
        sizes = [rows, rows + 1, rows + 2] if others else []
        step = script.scene("step", scale, as_="step")
        backend = script.scene("marking_backend", as_="backend")
        compiled = script.make("compile_once", step, backend, compile_sizes=sizes, as_=name)
        w, b = whole(rng, 3, 2), whole(rng, 2)
        for other in others:  # with tensors that nobody else had, chosen sizes have their code
            script.ask(compiled, "", other, w, b, want=oracle.step(other, w, b, scale, len(other)))
        script.ask(compiled, "", x, w, b, want=oracle.step(given, w, b, scale, rows if sizes else None))
