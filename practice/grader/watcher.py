"""Says that a file was saved: `watcher.py FILE...` writes a line whenever one of them changes on the disk.

A process of its own, since `watch` forks and must have no thread. The folder is watched, not the file: editors put a
new file in the place of the old one. Ends when its input does.
"""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

QUIET_MS = 20  # without a change before a change is told: a save is several
AT_MOST_MS = 200  # that a file which goes on changing is waited for


def main(files: list[Path]) -> None:
    from watchfiles import watch

    threading.Thread(target=_end_with_input, daemon=True).start()
    names = {f.name for f in files}
    for _ in watch(
        *{f.parent for f in files},
        watch_filter=lambda _, path: Path(path).name in names,
        recursive=False,
        step=QUIET_MS,
        debounce=AT_MOST_MS,
    ):
        os.write(sys.stdout.fileno(), b"\n")


def _end_with_input() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


if __name__ == "__main__":
    main([Path(name) for name in sys.argv[1:]])
