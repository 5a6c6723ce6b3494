"""A terminal to print in: not too wide, colours as the user wants them, Chinese wrapped where Chinese may be.

rich breaks lines at blanks only, so a Chinese paragraph, which has none, is cut wherever a blank happens to be.
`Text` here breaks between any two wide characters as well, but starts no line with a closing mark and ends none with
an opening one.
"""

from __future__ import annotations

import os
import re
import sys

import rich.text
from rich.cells import cell_len
from rich.console import Console
from rich.containers import Lines
from rich.measure import Measurement

WIDEST, NARROWEST = 100, 20  # columns
NOT_FIRST = set("，。、；：？！）》」』】〕〉”’…—·％,.;:?!)]}%°")  # on a line
NOT_LAST = set("（《「『【〔〈“‘([{")
MARKS = "\u3000-\u303f\uff00-\uffef"  # Chinese punctuation, which has its own room
HAN = MARKS + "\u4e00-\u9fff"


class _Console(Console):
    def on_broken_pipe(self) -> None:  # rich's own ends with status 1, which means "not accepted"
        raise BrokenPipeError


def console(stderr: bool = False, **options) -> Console:
    """For one command's output; `options` are rich's, which also reads NO_COLOR and COLUMNS."""
    made = _Console(highlight=False, soft_wrap=False, stderr=stderr, emoji=False, markup=False, **options)
    made.width = max(min(made.width, WIDEST), NARROWEST)
    return made


def is_terminal() -> bool:
    """Whether stdout is a terminal that can clear its screen."""
    return sys.stdout.isatty() and os.environ.get("TERM", "") not in ("", "dumb")


def breaks(line: str) -> list[int]:
    """Where a line may be broken: offsets of characters that may start the next one."""
    wide = [cell_len(c) > 1 for c in line]
    found = []
    for i in range(1, len(line)):
        a, b = line[i - 1], line[i]
        if b.isspace():
            continue
        if a.isspace() or ((wide[i - 1] or wide[i]) and b not in NOT_FIRST and a not in NOT_LAST):
            found.append(i)
    return found


def offsets(line: str, width: int) -> list[int]:
    """Where to break a line so that each piece fits into `width` cells."""
    cuts, start = [], 0
    stops = [*breaks(line), len(line)]
    best = 0  # the last stop up to which the piece fits
    for stop in stops:
        while cell_len(line[start:stop].rstrip()) > width:
            if best <= start:  # longer than a line and nowhere to break it: fold
                best = start + _fits(line[start:stop], width)
            if best >= len(line):  # not even a character fits
                return cuts
            cuts.append(best)
            start = best
        best = stop
    return cuts


def _fits(text: str, width: int) -> int:
    """How many characters fit; at least one."""
    used = 0
    for count, char in enumerate(text):
        used += cell_len(char)
        if used > width:
            return max(count, 1)
    return len(text)


class Text(rich.text.Text):
    """rich's Text, with lines that may break between wide characters."""

    def wrap(self, console, width, *, justify=None, overflow=None, tab_size=8, no_wrap=None) -> Lines:
        chosen = overflow or self.overflow or "fold"
        if no_wrap or (no_wrap is None and self.no_wrap) or chosen != "fold":
            return super().wrap(
                console, width, justify=justify, overflow=overflow, tab_size=tab_size, no_wrap=no_wrap
            )
        lines = Lines()
        for line in self.split(allow_blank=True):
            if "\t" in line:
                line.expand_tabs(tab_size)
            pieces = line.divide(offsets(line.plain, width))
            for piece in pieces:
                piece.rstrip_end(width)
            lines.extend(pieces)
        return lines

    def __rich_measure__(self, console, options) -> Measurement:
        widths = [0]
        for line in self.plain.splitlines():
            ends = [*breaks(line), len(line)]
            widths += [cell_len(line[a:b].rstrip()) for a, b in zip([0, *ends], ends, strict=False)]
        longest = max((cell_len(line) for line in self.plain.splitlines()), default=0)
        return Measurement(max(widths), longest)


def markdown(text: str):
    """Markdown to print: paragraphs wrapped as `Text`, numbered lists with their dots."""
    from rich.markdown import ListItem, Markdown, Paragraph, TableDataElement, TextElement  # slow to import
    from rich.segment import Segment

    class Ours(Paragraph):
        def on_enter(self, context) -> None:
            TextElement.on_enter(self, context)
            self.text = Text(justify="left")

    class Cell(TableDataElement):
        def __init__(self, justify) -> None:
            super().__init__(justify)
            self.content = Text("", justify=justify, overflow="fold")

    class Item(ListItem):
        def render_number(self, console, options, number, last_number):
            """With the dot behind the number, which rich drops."""
            width = len(str(last_number)) + 3
            lines = console.render_lines(self.elements, options.update(width=options.max_width - width))
            for i, line in enumerate(lines):
                yield Segment(("" if i else f"{number}. ").rjust(width), console.get_style("markdown.item.number"))
                yield from line
                yield Segment("\n")

    class Page(Markdown):
        elements = {**Markdown.elements, "paragraph_open": Ours, "list_item_open": Item, "td_open": Cell}

    # a line end inside Chinese text is no space, but one between Chinese and code is, as within a line
    text = re.sub(rf"(?<=[{HAN}])\n *(?=[{HAN}]|\*\*)|(?<=\*)\n *(?=[{HAN}])", "", text)
    text = re.sub(rf"(?<=[{MARKS}])\n *(?=`)|(?<=`)\n *(?=[{MARKS}])", "", text)
    return Page(text)
