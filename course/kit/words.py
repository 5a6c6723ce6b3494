"""Sentences for a notebook: wrapped at words, since JupyterLab breaks long lines inside them."""

from __future__ import annotations

import textwrap

WIDTH = 92


def wrapped(text: str) -> str:
    """The text in lines that a notebook's column holds; code in it is kept whole."""
    return textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False)


def say(text: str) -> None:
    """Prints one sentence or two."""
    print(wrapped(text))
