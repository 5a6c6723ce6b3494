"""The input that a test failed with, as a program which calls the learner's code with it: `--save-input FILE.py`.

A report cuts what is long. To find a mistake that has no name one wants all of it, under a debugger or with a print.
"""

from __future__ import annotations

import stat
from pathlib import Path

from grader import workspace
from grader.compare import is_tensor, short
from grader.once import Asked
from grader.problems import ROOT
from grader.usage import UsageError, one_line

HEAD = "# Written by the judge (--save-input)"


def may_write(path: Path, judged: Path) -> None:
    """Raises UsageError when this is no place for a program of ours: known before the judgement, not after it."""
    if path.resolve() == judged.resolve():
        raise UsageError(f"--save-input names the file that is judged, {one_line(str(path))}: name another file")
    if path.suffix != ".py":
        raise UsageError(f"--save-input takes the name of a Python file, such as input.py, not {one_line(str(path))}")
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise UsageError(f"--save-input cannot write {one_line(str(path))}: its folder is missing, or it is one itself")
    if (why := _not_ours(path)) is not None:
        raise UsageError(f"{one_line(str(path))} {why}: name another file")


def _not_ours(path: Path) -> str | None:
    """What is there and must stay, or None: nothing, or a program of ours."""
    try:
        found = path.lstat()
        if not stat.S_ISREG(found.st_mode):
            return "is there already, and is no plain file"
        with open(path, "rb") as file:
            ours = file.read(len(HEAD)) == HEAD.encode()
    except FileNotFoundError:
        return None
    except OSError as e:
        return f"cannot be read ({e.strerror})"
    return None if ours else "is there already, and not written by --save-input"


def save(path: Path, what: Asked, judgement) -> str:
    """Writes the input of the first test that failed with one; what to say about it."""
    for test in judgement.tests:
        call = judgement.inputs.get(test.name)
        if call is not None:
            break
    else:
        if judgement.accepted:
            return "Nothing failed, so there is no input to save."
        return "No test failed with an input of its own: the lines in the report are all there is."
    try:
        if (why := _not_ours(path)) is not None:
            return f"The input was not saved: {one_line(str(path))} {why}."
        workspace.write(path, _program(what, judgement, test, call).encode())
    except OSError as e:  # the verdict stands
        return f"The input was not saved: {one_line(str(path))}: {e.strerror}."
    return f"The input of {test.name}, as a program: {one_line(str(path))}"


def _program(what: Asked, judgement, test, call) -> str:
    values = [*call.args, *call.kwargs.values()]
    if what.own:
        module = judgement.problem.module.removesuffix(".py").replace("/", ".")
        imports = "sys"
        function = [
            f"sys.path.insert(0, {str(workspace.path().absolute())!r})",
            f"from mini_llm.{module} import {call.name}",
        ]
    else:
        name, path = "mini_llm._submission" if what.package else "solution", str(what.path.absolute())
        imports = "runpy, sys" if what.package else "runpy"  # `from .buckets import pad_to` means the course's
        function = [f"sys.path.insert(0, {str(ROOT)!r})"] if what.package else []
        function += [f"{call.name} = runpy.run_path({path!r}, run_name={name!r})[{call.name!r}]"]
    lines = [
        f"{HEAD}: problem {judgement.problem.id}, {test.name}, seed {judgement.seed}.",
        f"# {test.rule}",
        f"# expected: {short(call.want)}".replace("\n", " "),
        f"import {imports}",
        *(["from math import inf, nan  # noqa: F401"] if _has_odd(values) else []),
        "",
        *(["import torch"] if any(_has_tensor(v) for v in values) else []),
        *function,
    ]
    lines += ["", "args = ("]
    lines += [f"    {_literal(value)}," for value in call.args]
    lines += [")", f"kwargs = {_literal(call.kwargs)}", f"print({call.name}(*args, **kwargs))", ""]
    return "\n".join(lines)


def _has_tensor(x: object) -> bool:
    inner = x.values() if type(x) is dict else x if type(x) in (list, tuple) else ()
    return is_tensor(x) or any(_has_tensor(v) for v in inner)


def _has_odd(x: object) -> bool:
    return any(word in _literal(x) for word in ("nan", "inf"))


def _literal(x: object) -> str:
    """An expression with exactly this value: tensors with every number and their dtype."""
    if is_tensor(x):
        if not x.numel():
            return f"torch.zeros({list(x.shape)}, dtype={x.dtype})"
        return f"torch.tensor({_literal(x.tolist())}, dtype={x.dtype})"
    if type(x) is list:
        return f"[{', '.join(map(_literal, x))}]"
    if type(x) is tuple:
        return f"({', '.join(map(_literal, x))}{',' * (len(x) == 1)})"
    if type(x) is dict:
        return f"{{{', '.join(f'{_literal(k)}: {_literal(v)}' for k, v in x.items())}}}"
    return repr(x)
