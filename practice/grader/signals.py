"""Signals that end a command: they stop it as Ctrl-C does, and none stops it while it clears away."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator

STOPS = (signal.SIGTERM, signal.SIGHUP)


@contextlib.contextmanager
def stopped_by(handler: Callable = signal.default_int_handler) -> Iterator[None]:
    """A `kill`, or the end of the terminal, stops as Ctrl-C does: no process and no file is left behind. A signal that
    is ignored, as `nohup` asks, stays so."""
    before = {number: signal.getsignal(number) for number in STOPS}
    before = {number: was for number, was in before.items() if was is not signal.SIG_IGN}
    for number in before:
        signal.signal(number, handler)
    try:
        yield
    finally:
        for number, was in before.items():
            signal.signal(number, was)


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """What clears away is done to its end: a signal that comes meanwhile, such as a second Ctrl-C, acts afterwards."""
    if threading.current_thread() is not threading.main_thread():  # signals go to the main thread
        yield
        return
    came: list[int] = []
    kinds = (signal.SIGINT, *STOPS)
    before = {number: signal.getsignal(number) for number in kinds}
    before = {number: was for number, was in before.items() if callable(was)}
    for number in before:
        signal.signal(number, lambda number, _frame: came.append(number))
    try:
        yield
    finally:
        for number, was in before.items():
            signal.signal(number, was)
        if came:
            signal.raise_signal(came[0])
