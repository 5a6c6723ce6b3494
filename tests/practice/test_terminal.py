"""Text in a terminal: Chinese wrapped where it may be, names made harmless."""

import io

import pytest
from rich.cells import cell_len

from grader import usage
from grader.terminal import Text, console, markdown, offsets


def wrapped(text: str, width: int) -> list[str]:
    cuts = offsets(text, width)
    return [text[a:b].rstrip() for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]


def test_chinese_fills_the_lines():
    text = "推理引擎会为少数几个批大小各录制一张图，重放大小不小于 bs 的图中最小的一张（padding）补齐。"
    for width in range(12, 60):
        pieces = wrapped(text, width)
        assert all(cell_len(p) <= width for p in pieces)
        assert "".join(p.replace(" ", "") for p in pieces) == text.replace(" ", "")
        assert all(p[0] not in "，。）" and p[-1] != "（" for p in pieces)
    # ragged by at most a mark, a word or half a character
    assert all(cell_len(p) >= 30 for p in wrapped(text, 40)[:-1])


def test_words_stay_whole_and_what_is_too_long_is_folded():
    assert wrapped("one two three", 9) == ["one two", "three"]
    assert wrapped("a " + "x" * 12 + " b", 5) == ["a", "xxxxx", "xxxxx", "xx b"]
    assert wrapped("宽宽宽", 1) == ["宽", "宽", "宽"]  # nothing fits: still it ends
    assert wrapped("", 5) == [""] and wrapped("word", 4) == ["word"]


@pytest.mark.parametrize(
    "text, shown",
    [
        ("一行中文\n又一行", "一行中文又一行"),
        ("键有\n`ms`、`bytes`", "键有 ms、bytes"),
        ("`ms`\n是时间", "ms 是时间"),
        ("时间，\n`ms`", "时间，ms"),
        ("one line\nand another", "one line and another"),
    ],
)
def test_a_line_end_in_the_source_is_a_blank_only_where_a_blank_belongs(text, shown):
    out = console(file=io.StringIO(), width=80)
    out.print(markdown(text))
    assert out.file.getvalue().strip() == shown


@pytest.mark.parametrize("width", [20, 33, 100])
def test_markdown_in_a_list_wraps_too(width):
    out = io.StringIO()
    text = "1. 从 1 到 `max_bs` 中取 `k` 个不同的整数，其中必须有最大的一个，\n   其余的按升序排列。\n2. 二\n"
    console(file=out, width=width).print(markdown(text))
    printed = [line.rstrip() for line in out.getvalue().splitlines()]
    assert all(cell_len(line) <= width for line in printed)
    assert any(line.startswith(" 1. 从") for line in printed)
    assert "的一个，其余的" in "".join(line.strip() for line in printed)


def test_a_paragraph_of_markdown_fills_its_lines():
    out = io.StringIO()
    console(file=out, width=40).print(markdown("录制 " + "大小" * 30))
    first, *_ = (line.rstrip() for line in out.getvalue().splitlines())
    assert cell_len(first) >= 38


def test_no_cell_of_a_table_is_cut_off():
    out = io.StringIO()
    rows = ["独立的 `GraphModule`；按 `inputs` 的顺序接收各值，返回 `outputs` 的元组", "`call_function`、`call_method`"]
    text = f"| 字段 | 含义 |\n| --- | --- |\n| {rows[1]} | {rows[0]} |\n"
    console(file=out, width=40).print(markdown(text))
    assert "…" not in out.getvalue()
    for mark in ("call_function", "call_method", "GraphModule", "元组"):
        assert mark in out.getvalue()


def test_a_console_is_neither_wider_nor_narrower_than_can_be_read(monkeypatch):
    for asked, got in ((1, 20), (50, 50), (400, 100)):
        monkeypatch.setenv("COLUMNS", str(asked))
        assert console(file=io.StringIO()).width == got


def test_text_measures_by_what_cannot_be_broken():
    measured = Text("录制 CUDA 的大小").__rich_measure__(None, None)
    assert (measured.minimum, measured.maximum) == (4, 16)


def test_names_on_one_line():
    assert usage.one_line("a\x1b[1m\n\tb\u202e c") == "a\\x1b[1m\\n\\tb\\u202e c"
    assert usage.one_line("b\udcff 中文") == "b\\xff 中文"
    assert len(usage.one_line("x" * 9000)) < 600


def test_numbers_in_ranges():
    assert usage.ranges([133, 130, 131, 132, 135, 136]) == "130 to 133, 135, 136"
