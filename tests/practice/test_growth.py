"""What %%grow does to a module's text: replacing, conflicts, refusals, and reading back."""

import pytest

from grader.growth import (
    Edited,
    Entry,
    Refusal,
    Untouched,
    extract,
    grow,
    read_cell,
    target_module,
    text_of,
)
from grader.stubs import stub_module

REFERENCE = '''"""Sizes."""

from bisect import bisect_left
from math import floor

TOP = 8


def first(n: int) -> int:
    """One."""
    return _help(n)


# between the two
def base(n):
    return floor(n)   # odd   spacing stays


def second(n):
    return bisect_left([n], n)


def _help(n):
    return n + _BY


_BY = 1
'''
NAMES = {"first": 3, "second": 3}
BASE = stub_module(REFERENCE, NAMES)


def put(source, text, entries=(), **options):
    return grow(source, read_cell(text), list(entries), NAMES, BASE, **options)


def test_the_body_takes_the_stub_s_place_and_the_rest_stays_as_it_was():
    change = put(BASE, "%%grow mini_llm/sizes.py\n\ndef first(n):\n    return 2\n")
    stub = BASE[BASE.index("def first") : BASE.index("\n\n\n# between")]
    assert stub in BASE and change.source == BASE.replace(stub, "def first(n):\n    return 2")
    assert change.put == ("first",) and change.removed == ()


def test_imports_constants_and_helpers_come_along_and_go_with_a_rename():
    one = put(
        BASE,
        "import math\nfrom bisect import bisect_left\n\n# how far\n\nSTEP = 4  # rows\n\n\n"
        "def helper(n):\n    return math.ceil(n)\n\ndef first(n):\n    return helper(n) * STEP\n",
    )
    assert "from math import floor\nimport math\n" in one.source
    assert one.source.count("bisect_left") == BASE.count("bisect_left")
    assert "# how far\nSTEP = 4  # rows\n\n\ndef helper" in one.source
    two = put(one.source, "def aide(n):\n    return n\n\ndef first(n):\n    return aide(n)", one.entries)
    for gone in ("helper", "STEP", "import math"):
        assert gone not in two.source
    assert set(two.removed) == {"helper", "STEP"}
    assert "def aide" in two.source
    back = put(two.source, "def first(n):\n    return 0", two.entries)
    assert back.source == put(BASE, "def first(n):\n    return 0").source


def test_imports_join_those_at_the_head_in_their_order():
    body = "from __future__ import annotations\nimport re\nimport os, abc\nimport re\ndef first(n):\n    return re.X\n"
    lines = put(BASE, body).source.split("\n")
    assert lines[:9] == [
        '"""Sizes."""',
        "",
        "from __future__ import annotations",
        "",
        "from bisect import bisect_left",
        "from math import floor",
        "import re",
        "import os",
        "import abc",
    ]
    assert put("X = 1\n", "import re\ndef first(n): pass").source.startswith("import re\n\nX = 1\n")


def test_growing_again_changes_nothing():
    one = put(BASE, "import re\nX = 1\ndef first(n):\n    return re.X\n")
    two = put(one.source, "import re\nX = 1\ndef first(n):\n    return re.X\n", one.entries)
    assert two.source == one.source and two.entries == one.entries and two.removed == ()


def test_the_stub_grows_nothing():
    text = (
        'def first(n):\n    """One."""\n    raise NotImplementedError("replace this line with your code")\n'
    )
    with pytest.raises(Untouched, match="first"):
        put(BASE, "import re\n" + text)


def test_an_edit_in_the_file_is_never_overwritten():
    one = put(BASE, "def first(n):\n    return 1")
    edited = (
        one.source.replace("return 1", "return more(n)")
        + "\n\nimport re\n\n\ndef more(n):\n    return re.X\n"
    )
    with pytest.raises(Edited) as caught:
        put(edited, "def first(n):\n    return 3", one.entries)
    # the file's side is complete: what it needs besides the function comes along
    assert caught.value.file == (
        "import re\n\n\ndef first(n):\n    return more(n)\n\n\ndef more(n):\n    return re.X"
    )
    assert caught.value.cell == "def first(n):\n    return 3"
    forced = put(edited, "def first(n):\n    return 3", one.entries, take_cell=True)
    assert "return 3" in forced.source and "def more" in forced.source


def test_a_file_solved_in_an_editor_first_is_an_edit_too_unless_it_is_the_same():
    solved = BASE.replace('raise NotImplementedError("grown in chapter 3: second")', "return 1")
    with pytest.raises(Edited):
        put(solved, "def second(n):\n    return 2")
    assert put(solved, "def second(n):\n    return 1").source == solved


def test_a_stub_put_back_and_a_helper_removed_in_the_file():
    one = put(BASE, "def help1():\n    pass\n\ndef first(n):\n    return 1")
    assert "return 2" in put(BASE, "def first(n):\n    return 2", one.entries).source  # a reset is no edit
    without = one.source.replace("def help1():\n    pass\n\n\n", "")
    with pytest.raises(Edited):
        put(without, "def first(n):\n    return 2", one.entries)


def test_a_name_that_clashes_is_refused():
    for text, why in [
        ("TOP = 3\ndef first(n):\n    return 1", "`TOP` is a part of this module that is not yours"),
        ("def base(n): pass\ndef first(n):\n    return 1", "`base`"),
        ("import os as floor\ndef first(n):\n    return 1", "second meaning"),
        ("import os as TOP\ndef first(n):\n    return 1", "second meaning"),
    ]:
        with pytest.raises(Refusal, match=why):
            put(BASE, text)


def test_two_cells_may_share_a_helper_but_not_a_name():
    helper = "def half(n):\n    return n // 2\n\n\n"
    one = put(BASE, helper + "def first(n):\n    return half(n)")
    two = put(one.source, helper + "def second(n):\n    return half(n)", one.entries)
    assert two.source.count("def half") == 1
    dropped = put(two.source, "def first(n):\n    return 1", two.entries)
    assert "def half" in dropped.source  # the other cell still needs it
    with pytest.raises(Refusal, match="the cell of first defines another `half`"):
        put(one.source, "half = 1\ndef second(n):\n    return half", one.entries)


def test_shared_imports_stay_while_one_cell_wants_them():
    one = put(BASE, "import re\ndef first(n):\n    return re.X")
    two = put(one.source, "import re\ndef second(n):\n    return re.X", one.entries)
    three = put(two.source, "def first(n):\n    return 1", two.entries)
    assert three.source.count("import re") == 1
    assert "import re" not in put(three.source, "def second(n):\n    return 1", three.entries).source


def test_a_cell_for_two_functions_takes_over_from_two_cells_and_back():
    one = put(BASE, "def h1(): pass\ndef first(n):\n    return 1")
    both = put(one.source, "def first(n):\n    return 2\ndef second(n):\n    return 2", one.entries)
    assert "h1" not in both.source
    again = put(both.source, "def second(n):\n    return 3", both.entries)
    assert "return 3" in again.source and "def first(n):\n    return 2" in again.source
    assert [e.names for e in again.entries] == [("first",), ("second",)]


def test_only_the_written_function_of_a_cell_grows():
    change = put(BASE, "def first(n):\n    return 1\n\ndef second(n):\n    raise NotImplementedError\n")
    assert change.put == ("first",) and "grown in chapter 3: second" in change.source


def test_a_function_the_file_lost_is_added_at_its_end():
    lost = "def base(n):\n    return n\n"
    assert put(lost, "def first(n):\n    return 1").source == lost + "\n\ndef first(n):\n    return 1\n"


def test_expressions_are_scraps_and_blocks_of_definitions_are_not():
    cell = read_cell(
        "try:\n    import numpy as np\nexcept ImportError:\n    np = None\nprint(1)\n"
        "def first(n):\n    return 1\nassert first(1) == 1\nfor i in range(3):\n    pass\nfirst.x = 1\n"
    )
    assert [p.start + 1 for p in cell.scraps] == [5, 8, 9, 11]
    assert "except ImportError" in grow(BASE, cell, [], NAMES, BASE).source


def test_markers_of_the_source_notebook_never_reach_the_file():
    body = "    return h()\n\n\ndef h():\n    return 1\n"
    text = f"def first(n):\n    ### BEGIN SOLUTION\n{body}    ### END SOLUTION\n"
    assert "SOLUTION" not in put(BASE, text).source


def test_syntax_errors_name_the_line_of_the_cell():
    with pytest.raises(SyntaxError) as caught:
        read_cell("%%grow mini_llm/sizes.py\ndef first(n):\n    return (\n")
    assert caught.value.lineno == 3


def test_extract_and_grow_are_inverse_on_the_reference():
    source, entries = BASE, []
    for name in NAMES:
        cell = text_of(*extract(REFERENCE, [name], NAMES, BASE))
        change = put(source, cell, entries)
        source, entries = change.source, change.entries
    assert "def _help" in source and "_BY = 1" in source
    assert "_help" not in text_of(*extract(REFERENCE, ["second"], NAMES, BASE))
    namespace = {}
    exec(source, namespace)
    assert namespace["first"](1) == 2


def test_entries_survive_losing_a_name():
    entry = Entry(("a", "b"), ("def a(): pass", "def b(): pass", "H = 1"), ("import re",))
    assert entry.without(["a"]) == Entry(("b",), ("def b(): pass", "H = 1"), ("import re",))


@pytest.mark.parametrize(
    ("target", "says"),
    [
        ("", "%%grow needs the file to grow, as in `%%grow mini_llm/buckets.py`."),
        ("mini_llm/../x.py", "must be one inside mini_llm/"),
        ("/tmp/x.py", "must be one inside mini_llm/"),
        ("other/buckets.py", "must be one inside mini_llm/"),
        ("buckets.py", "must be one inside mini_llm/"),
        ("mini_llm/bucket.py", "did you mean mini_llm/buckets.py?"),
        ("mini_llm/buckets", "did you mean mini_llm/buckets.py?"),
        ("mini_llm/zzz.py", "there is no such file; the ones that grow are mini_llm/buckets.py"),
        (
            "mini_llm/model.py",
            "mini_llm/model.py is not a file that grows; the ones that do: mini_llm/buckets.py",
        ),
    ],
)
def test_a_target_that_cannot_be_is_one_clear_sentence(target, says):
    with pytest.raises(Refusal) as caught:
        target_module(target, ["buckets.py", "model.py"], ["buckets.py"])
    assert says in str(caught.value) and "\n" not in str(caught.value)


def test_a_good_target():
    assert target_module("./mini_llm/buckets.py", ["buckets.py"], ["buckets.py"]) == "buckets.py"
