"""Stubs: what stays, what goes, and that the workspace's file still is a module."""

import ast
from pathlib import Path

import pytest

from grader.pieces import add_imports, cut, split
from grader.problems import growing
from grader.stubs import drop, is_stub, stub_module

ROOT = Path(__file__).resolve().parents[2]

MODULE = '''"""Sizes."""

import math  # used by the answer only
from bisect import bisect_left

# how far the ladder goes
TOP = 512
_STEP = 8
_SECRET = 3


def top(n: int) -> int:  # a rule
    # what follows is the answer
    return _round(n * _SECRET)  # trailing

    # a last thought about the answer


# A helper that two functions use.
def _shared(n):
    return n // _STEP


def _round(n):
    return _shared(n) + math.floor(0.5) + _deeper()


def _deeper():
    return bisect_left([1], 1)


def other(n, step=_STEP):
    """Kept."""
    return _shared(n)
'''


def test_signature_and_docstring_stay_and_nothing_of_the_body():
    stub = stub_module(MODULE, {"top": 3})
    assert 'def top(n: int) -> int:\n    raise NotImplementedError("grown in chapter 3: top")' in stub
    for gone in ("answer is", "trailing", "last thought", "what follows", "_SECRET", "_round", "_deeper"):
        assert gone not in stub
    # what others use stays as written, comments included
    for kept in (
        "# how far the ladder goes\nTOP = 512",
        "# A helper that two functions use.\ndef _shared",
        "_STEP = 8",
    ):
        assert kept in stub


def test_docstring_is_kept_as_written():
    stub = stub_module(
        'def f(a,\n      b=":"):\n    """One.\n\n    Two: `x`.\n    """\n    return a\n', {"f": 1}
    )
    assert stub == (
        'def f(a,\n      b=":"):\n    """One.\n\n    Two: `x`.\n    """\n'
        '    raise NotImplementedError("grown in chapter 1: f")\n'
    )


@pytest.mark.parametrize(
    "source",
    [
        "def f(x): return {1: x}[1]\n",
        "@cache\ndef f(x: 'dict[int, int]' = {1: 2}) -> list[int]:\n    return [x]\n",
        "async def f(x):\n    return x\n",
        "def f(x):\n    return x",
        "def f(x):\n\treturn x\n\n\ny = 1\n",
        "def f(g=lambda n: n):\n    return g\n",
    ],
)
def test_any_layout_gives_a_module_whose_function_raises(source):
    stub = stub_module(source, {"f": 2})
    assert is_stub(stub)
    assert "return" not in stub
    ast.parse(stub)


def test_a_private_name_in_a_signature_stays():
    stub = stub_module("_TOP = 4\n_NO = 5\n\n\ndef f(n=_TOP):\n    return n + _NO\n", {"f": 1})
    assert "_TOP = 4" in stub and "_NO" not in stub


def test_private_helpers_of_two_stubs_go_when_both_are_stubs():
    source = "def f():\n    return _h()\n\n\ndef g():\n    return _h()\n\n\ndef _h():\n    return 42\n"
    assert "_h" not in stub_module(source, {"f": 1, "g": 1})
    assert "def _h" in stub_module(source, {"f": 1})


def test_a_helper_named_in_prose_only_goes():
    assert (
        "_h"
        not in stub_module(
            '"""Uses _h."""\n\n\ndef f():\n    return _h()\n\n\ndef _h():\n    pass\n', {"f": 1}
        )[12:]
    )


def test_a_class_keeps_fields_and_the_methods_others_call():
    stub = stub_module(
        "@dataclass\nclass Runner(Base):\n    '''Runs.'''\n\n    size: int = 4\n    hidden = 3\n\n"
        "    def __init__(self):\n        self.x = 1\n\n"
        "    @property\n    def top(self):\n        '''Top.'''\n"
        "        return 3\n\n    def _secret(self):\n        return 4\n",
        {"Runner": 5},
    )
    assert is_stub(stub)
    assert "size: int = 4" in stub and "@property\n    def top(self):\n        '''Top.'''" in stub
    for gone in ("_secret", "hidden", "self.x", "return"):
        assert gone not in stub


def test_what_counts_as_a_stub():
    assert is_stub("def f():\n    raise NotImplementedError")
    assert is_stub('def f():\n    "doc"\n    raise NotImplementedError("replace this line with your code")')
    assert not is_stub("def f():\n    pass")
    assert not is_stub("def f():\n    x = 1\n    raise NotImplementedError")
    assert not is_stub("def f(:")
    assert not is_stub("x = 1")


def test_a_name_the_module_lacks_is_an_error():
    with pytest.raises(ValueError, match="no function or class 'g'"):
        stub_module("def f():\n    pass\n", {"g": 1})


def test_drop_takes_whole_statements():
    assert drop("a = 1\n\n\n# of b\nb = 2\n\n\nc = 3\n", ["b"]) == "a = 1\n\n\nc = 3\n"


def test_every_reference_module_has_its_stubs():
    for module, names in growing().items():
        source = (ROOT / "mini_llm" / module).read_text(encoding="utf-8")
        stub = stub_module(source, {name: chapter for name, (_, chapter) in names.items()})
        kept = {p.nodes[0].name: p.nodes[0] for p in split(stub) if hasattr(p.nodes[0], "name")}
        assert all(is_stub(kept[name]) for name in names)
        compile(stub, module, "exec")


def test_imports_go_below_the_head_once():
    source = '"""Doc."""\n\nimport os\nimport re\n\n\ndef f():\n    pass\n'
    assert add_imports(source, ["import re", "import math"]) == source.replace(
        "import re\n", "import re\nimport math\n"
    )
    assert add_imports("x = 1\n", ["import re"]) == "import re\n\nx = 1\n"
    assert add_imports('"""Doc."""\nx = 1\n', ["from __future__ import annotations", "import re"]) == (
        '"""Doc."""\n\nfrom __future__ import annotations\nimport re\n\nx = 1\n'
    )


def test_a_block_takes_the_place_of_a_piece_and_the_rest_stays():
    source = "a = 1\nb = 2\n\n\n\ndef f():\n    pass\n# end\n"
    pieces = split(source)
    assert cut(source, [pieces[0]], "def f():\n    return 1", at=pieces[2]) == (
        "b = 2\n\n\n\ndef f():\n    return 1\n# end\n"
    )
