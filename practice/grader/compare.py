"""Is this the right answer? Exact types, values within a tolerance that nan fails, the first difference named."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Sequence

from grader.wire import Handle, type_name

WIDTH = 300  # characters of a value in a report
MOST_NUMBERS = 24  # of a tensor that is printed whole


def difference(got: object, want: object, tolerance: float | None = None, where: str = "") -> str | None:
    """None when `got` is what was wanted; otherwise what differs, in words.

    Types must be the same (True is not 1, a tuple is not a list), and of tensors dtype and shape. With a
    `tolerance`, an int or a float within it of the wanted number will do, and so it is for each number of a tensor;
    the comparison is written so that nan never passes where a number is wanted.
    """
    at = f" at {where}" if where else ""
    if is_tensor(want) and is_tensor(got):
        return _tensor_difference(got, want, tolerance, at)
    if tolerance is not None and type(want) in (int, float):
        if type(got) not in (int, float):
            return f"a number was expected{at}, not {described_type(got)}"
        try:
            near = got == want or abs(got - want) <= tolerance  # inf - inf is nan
        except OverflowError:  # an int that no float can hold
            near = False
        return None if near else f"the value differs{at}"
    if type(got) is not type(want):
        if want is None:
            return f"None was expected{at}, not {described_type(got)}"
        return f"{described_type(want)} was expected{at}, not {described_type(got)}"
    if isinstance(want, (list, tuple)):
        if len(got) != len(want):
            return f"the length differs{at}: {len(want)} expected, {len(got)} came{_too_many_or_few(got, want)}"
        for i, (g, w) in enumerate(zip(got, want, strict=True)):
            if (why := difference(g, w, tolerance, f"{where}[{i}]")) is not None:
                return why
        return None
    if isinstance(want, dict):
        if {(type(key), key) for key in got} != {(type(key), key) for key in want}:
            return f"the keys differ{at} ({_other_keys(got, want)})"
        for key in want:
            if (why := difference(got[key], want[key], tolerance, f"{where}[{key!r}]")) is not None:
                return why
        return None
    if got == want:
        return None
    both = f": {short(want, 60)} expected, {short(got, 60)} came" if where else ""
    return f"the value differs{at}{both}"


def is_tensor(x: object) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and type(x) is torch.Tensor


def _tensor_difference(got, want, tolerance: float | None, at: str) -> str | None:
    if got.dtype != want.dtype:
        return f"the dtype differs{at}: {want.dtype} expected, {got.dtype} came"
    if got.shape != want.shape:
        return f"the shape differs{at}: {list(want.shape)} expected, {list(got.shape)} came"
    a, b = (got, want) if tolerance is None else (got.double(), want.double())
    near = (a == b) | (a.isnan() & b.isnan())  # nan is right where nan is wanted
    if tolerance is not None:
        near |= (a - b).abs() <= tolerance
    if near.all():
        return None
    wrong = (~near).nonzero()
    place, some = wrong[0].tolist(), f"{len(wrong)} of {near.numel()} numbers differ"
    if not place:
        return f"the value differs{at}"
    first = f"the first at {place}: {_number(want[tuple(place)])} expected, {_number(got[tuple(place)])} came"
    return f"{some}{at}, {first}"


def _number(x) -> str:
    x = x.item()
    return f"{x:.6g}" if type(x) is float else str(x)


def _too_many_or_few(got: Sequence, want: Sequence) -> str:
    """For lists of whole numbers: which are too many, which are missing."""
    # bounded: this runs on the judge's time, and numbers can be chosen so that their hashes collide
    if len(got) + len(want) > 2000 or not all(type(x) is int and abs(x) < 2**31 for x in (*got, *want)):
        return ""
    rows = []
    for word, some in (("too many", Counter(got) - Counter(want)), ("missing", Counter(want) - Counter(got))):
        numbers = [str(x) for x in sorted(some.elements())]
        if numbers:
            rows.append(f"{word}: {' '.join(numbers[:6])}{' …' if len(numbers) > 6 else ''}")
    return f" ({'; '.join(rows)})" if rows else ""


def _other_keys(got: dict, want: dict) -> str:
    """The first keys that are missing, and the first that are too many."""
    rows = []
    for word, some in (("missing", [k for k in want if k not in got]), ("too many", [k for k in got if k not in want])):
        if some:
            rows.append(f"{word}: {', '.join(short(key, 60) for key in some[:4])}{', …' if len(some) > 4 else ''}")
    return "; ".join(rows)


def described_type(x: object) -> str:
    if x is None:
        return "None"
    name = type_name(x)
    return f"an {name}" if name[0] in "aeiou" else f"a {name}"


def short(value: object, width: int = WIDTH) -> str:
    """`repr`, cut in the middle when it is long: the report must stay readable."""
    try:
        text = _repr(value)
    except (ValueError, RecursionError):  # an int of thousands of digits, or lists nested too deeply
        return f"{described_type(value)} that Python does not print"
    if len(text) <= width:
        return text
    half = (width - 30) // 2
    return f"{text[:half]} … {len(text) - 2 * half} more characters … {text[-half:]}"


def is_cut(text: str) -> bool:
    """Whether something of a value is missing in this text of `short` or `call_text`."""
    return bool(re.search(r" … \d+ more characters … |<torch\.\w+ \[", text))


def _repr(x: object) -> str:
    """`repr`, with tensors on one line, as one would type them, and large ones as shape, dtype and first numbers."""
    if type(x) is Handle:
        return x.name
    if "torch" not in sys.modules or type(x) in (int, float, str, bool, type(None)):
        return repr(x)
    if type(x) is list:
        return f"[{', '.join(map(_repr, x))}]"
    if type(x) is tuple:
        return f"({', '.join(map(_repr, x))}{',' if len(x) == 1 else ''})"
    if type(x) is dict:
        return f"{{{', '.join(f'{k!r}: {_repr(v)}' for k, v in x.items())}}}"
    if not is_tensor(x):
        return repr(x)
    name = str(x.dtype)
    if not x.numel() and x.dim() > 1:  # its numbers are few, its lists may be millions
        return f"<{name} {list(x.shape)}: no numbers>"
    if x.numel() <= MOST_NUMBERS:
        numbers = _numbers(x.tolist())
        usual = name in ("torch.float32", "torch.int64", "torch.bool") and x.numel()
        return f"tensor({numbers})" if usual else f"tensor({numbers}, dtype={name})"
    flat = x.reshape(-1)
    return f"<{name} {list(x.shape)}: {_numbers(flat[:4].tolist())[1:-1]}, ..., {_numbers(flat[-1].tolist())}>"


def _numbers(x: object) -> str:
    if isinstance(x, list):
        return f"[{', '.join(map(_numbers, x))}]"
    text = f"{x:.4g}" if type(x) is float else str(x)
    return f"{text}." if type(x) is float and text.lstrip("-").isdigit() else text  # as torch writes it: 3. is a float


def call_text(name: str, args: tuple, kwargs: dict | None = None) -> str:
    """The call as one would type it."""
    parts = [short(a) for a in args] + [f"{k}={short(v)}" for k, v in (kwargs or {}).items()]
    return f"{name}({', '.join(parts)})"
