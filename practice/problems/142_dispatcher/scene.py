"""Builds a dispatcher from names and numbers and asks it once; keys and modes come back as plain values."""

from itertools import groupby

from mini_llm import dispatch as given

FIELDS = ("num_tokens", "num_reqs", "uniform", "has_lora")


def _modes(solution):
    return getattr(solution, "CUDAGraphMode", given.CUDAGraphMode)  # a whole module has an enum of its own


def _fields(key):
    missing = [name for name in FIELDS if not hasattr(key, name)]
    if missing:
        return f"{type(key).__name__}, not a BatchDescriptor"
    return {name: getattr(key, name) for name in FIELDS}


def _dispatcher(solution, mode, sizes, max_num_seqs, query_len, lost=(), also_full=(), with_lora=()):
    """The sets are changed in place, as an engine does it: a dispatcher may have kept them under names of its own."""
    modes = _modes(solution)
    made = solution.CudagraphDispatcher(modes[mode], sizes, max_num_seqs, query_len)
    for name, size in lost:  # graphs that could not be captured
        made.keys[modes[name]].difference_update(_of_size(made, modes[name], size))
    for size in also_full:  # a step with graphs of pieces that was captured as one graph too
        made.keys[modes["FULL"]].update(_of_size(made, modes["PIECEWISE"], size))
    for name, size in with_lora:  # graphs captured once more with adapters
        keys = _of_size(made, modes[name], size)
        made.keys[modes[name]].update(type(key)(key.num_tokens, key.num_reqs, key.uniform, True) for key in keys)
    return made


def _of_size(made, mode, size):
    return [key for key in made.keys[mode] if key.num_tokens == size]


def relaxed(solution, *fields):
    """The fields of BatchDescriptor(*fields).relaxed()."""
    key = solution.BatchDescriptor(*fields)
    found = key.relaxed()
    if _fields(key) != dict(zip(FIELDS, fields, strict=True)):
        return "the descriptor itself was changed"
    return _fields(found)


def same_graph(solution, one, other):
    """Whether the relaxed keys of two batches find each other in a set."""
    return solution.BatchDescriptor(*other).relaxed() in {solution.BatchDescriptor(*one).relaxed()}


def dispatch(
    solution,
    num_tokens,
    uniform=False,
    has_lora=False,
    *,
    mode,
    sizes,
    max_num_seqs,
    query_len=1,
    lost=(),
    also_full=(),
    with_lora=(),
):
    """What a new dispatcher answers: {"mode": name, and the descriptor's fields}."""
    made = _dispatcher(solution, mode, sizes, max_num_seqs, query_len, lost, also_full, with_lora)
    answer = made.dispatch(num_tokens, uniform=uniform, has_lora=has_lora)
    if not (isinstance(answer, tuple) and len(answer) == 2):
        return f"{type(answer).__name__}, not a tuple of two"
    runtime, key = answer
    if not isinstance(runtime, _modes(solution)):
        return f"{type(runtime).__name__}, not a CUDAGraphMode"
    fields = _fields(key)
    return {"mode": runtime.name} | fields if isinstance(fields, dict) else fields


def refused(solution, num_tokens, **settings):
    """Whether the batch is refused with ValueError."""
    try:
        dispatch(solution, num_tokens, **settings)
    except ValueError:
        return True
    return False


def attributes(solution, *, mode, sizes, max_num_seqs, query_len=1):
    """What others read of a dispatcher, besides its keys."""
    given = list(sizes)
    made = _dispatcher(solution, mode, given, max_num_seqs, query_len)
    if given != sizes:
        return "the list of sizes that was passed was changed"
    return {"mode": made.mode.name, "sizes": list(made.sizes), "query_len": made.query_len}


def keys(solution, *, mode, sizes, max_num_seqs, query_len=1):
    """{"PIECEWISE": [...], "FULL": [...]}: (num_tokens, num_reqs, uniform) of each key, ascending."""
    made, found = _dispatcher(solution, mode, sizes, max_num_seqs, query_len), {}
    for name in ("PIECEWISE", "FULL"):
        some = made.keys[_modes(solution)[name]]
        if not isinstance(some, set):
            return f"{type(some).__name__}, not a set"
        found[name] = sorted(((k.num_tokens, k.num_reqs, k.uniform) for k in some), key=lambda k: (k[0], k[2]))
    return found


def capture_order(solution, *, mode, sizes, max_num_seqs, query_len=1, lost=(), with_lora=()):
    """[(mode name, num_tokens, num_reqs, uniform, has_lora)] in the order to capture; of equal size, in one order."""
    made = _dispatcher(solution, mode, sizes, max_num_seqs, query_len, lost, (), with_lora)
    order = []
    for runtime, key in made.capture_order():
        fields = _fields(key)
        if not isinstance(fields, dict):
            return fields
        order.append((runtime.name, *fields.values()))
    return [row for _, same in groupby(order, lambda row: row[:2]) for row in sorted(same, key=lambda row: row[3:])]
