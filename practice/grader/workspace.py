"""The learner's workspace: a copy of `mini_llm/` whose growing parts are stubs, kept up to date.

What the learner changed is never touched. `.course/` inside the workspace remembers what was handed out:
`manifest.json` (hashes), and `handed/` (the texts, to tell an edit from an update). Never imports torch.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

from grader.pieces import Piece, add_imports, binding, cut, import_lines, split
from grader.problems import ROOT, Problem, growing
from grader.stubs import stub_module

FORMAT = 2  # of what `.course/` holds; a change rebuilds what the learner has not touched

README = """\
# mini_llm: yours

This is your own copy of the engine. It is what your notebooks import, and it grows as you work:

| file | you write | in chapter |
| --- | --- | --- |
{rows}

An answer cell (`%%grow`) writes them here, or you write them in an editor. `python judge.py 133`, in the folder
above, judges what stands here. The other files work as they are; change them as you like. `make learn` brings
what is new in the course and leaves what you changed as it is.
"""

LAUNCHER = """\
\"\"\"The judge, from your workspace: `python judge.py 133`. Written by `make learn`.\"\"\"

import os
import runpy
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
places = [place / "practice" / "judge.py" for place in (HERE.parent, Path({root!r}))]
judge = next((place for place in places if place.exists()), None)
if judge is None:
    sys.exit("judge: the course has moved; run `make learn` in its folder again.")
os.environ.setdefault("MINI_LLM_WORKSPACE", str(HERE))
sys.argv[0] = str(judge)
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def path() -> Path:
    """Where the workspace is or will be: MINI_LLM_WORKSPACE, else `workspace/` in the course's folder."""
    return Path(os.environ.get("MINI_LLM_WORKSPACE") or ROOT / "workspace").expanduser().absolute()


def learner_file(problem: Problem) -> Path:
    """The file in the workspace that this problem grows."""
    return path() / "mini_llm" / problem.module


def shown(place: Path) -> str:
    """A path as people type it: from the course's folder where it is inside it."""
    return str(place.relative_to(ROOT)) if place.is_relative_to(ROOT) else str(place)


def ensure_package(ws: Path | None = None, reference: Path = ROOT / "mini_llm") -> list[str]:
    """Makes or updates `mini_llm/` in the workspace; returns the lines to tell its owner, often none.

    A file the learner has not touched follows the reference. In one they have, only pieces they left as
    handed out follow it, and functions that are new to it are added as stubs. When a piece changed on both
    sides the whole new file is put beside theirs, as `buckets.py.new`.
    """
    ws = ws or path()
    _ensure_launcher(ws)
    grown = growing()
    files = {
        f.relative_to(reference).as_posix(): f.read_bytes()
        for f in sorted(reference.rglob("*"))
        if f.is_file() and "__pycache__" not in f.parts
    }
    if "README.md" in files:  # that one speaks to whoever maintains the reference
        files["README.md"] = _readme(grown)
    manifest = read_manifest(ws)
    mark = _mark(files, grown)
    package = ws / "mini_llm"
    if manifest.get("reference") == mark and all((package / name).exists() for name in files):
        return []

    first = not package.exists()
    lines: list[str] = []
    handed_before = manifest.get("files", {})
    handed_now: dict[str, str] = {}
    for name, data in files.items():
        chapters = {n: chapter for n, (_, chapter) in grown.get(name, {}).items()}
        new = stub_module(data.decode("utf-8"), chapters).encode() if chapters else data
        handed_now[f"mini_llm/{name}"] = sha(new)
        lines += _bring(ws, name, new, set(chapters))
    for name in handed_before.keys() - handed_now.keys():
        gone = ws / name
        if gone.is_file() and sha(gone.read_bytes()) == handed_before[name]:
            gone.unlink()
    write_manifest(ws, {**manifest, "reference": mark, "files": handed_now})
    return [f"Made {shown(ws)}/mini_llm, your own copy of the package."] if first else lines


def _ensure_launcher(ws: Path) -> None:
    """Makes `python judge.py` work inside the workspace too, where JupyterLab's terminal starts.

    A judge.py of the learner's own stays.
    """
    place, text = ws / "judge.py", LAUNCHER.format(root=str(ROOT)).encode()
    if not place.exists() or (has_launcher(ws) and place.read_bytes() != text):
        write(place, text)


def has_launcher(ws: Path) -> bool:
    """Whether the workspace's judge.py is the course's."""
    try:
        with open(ws / "judge.py", "rb") as file:
            return file.readline().decode("utf-8", "replace") == LAUNCHER.split("\n", 1)[0] + "\n"
    except OSError:
        return False


def _readme(grown: dict[str, dict[str, tuple[int, int]]]) -> bytes:
    rows = []
    for module, names in sorted(grown.items(), key=lambda one: (min(c for _, c in one[1].values()), one[0])):
        chapters = sorted({str(chapter) for _, chapter in names.values()})
        rows.append(f"| `{module}` | {', '.join(f'`{name}`' for name in names)} | {', '.join(chapters)} |")
    return README.format(rows="\n".join(rows)).encode()


def _bring(ws: Path, name: str, new: bytes, grows: set[str]) -> list[str]:
    """One file into the workspace, by the rules of `ensure_package`."""
    mine_at, handed_at = ws / "mini_llm" / name, ws / ".course" / "handed" / "mini_llm" / name
    old = handed_at.read_bytes() if handed_at.exists() else None
    mine = mine_at.read_bytes() if mine_at.exists() else None
    said: list[str] = []
    if mine is None or (mine == old and mine != new):
        write(mine_at, new)
        is_ = "new" if old is None else "back, as it was handed out" if mine is None else "up to date again"
        said = [f"{shown(mine_at)} is {is_}."]
    elif mine != new and old != new:
        said = _merge_into(mine_at, old, new, mine, grows)
    if old != new:
        write(handed_at, new)
    return said


def _merge_into(mine_at: Path, old: bytes | None, new: bytes, mine: bytes, grows: set[str]) -> list[str]:
    merged, complete = None, False
    if mine_at.suffix == ".py":
        # A file that is not UTF-8, or does not parse, is not for us to edit.
        with contextlib.suppress(SyntaxError, UnicodeDecodeError):
            merged, complete = merge((old or b"").decode(), new.decode(), mine.decode(), grows)
    said = []
    if merged is not None and merged.encode() != mine:
        write(mine_at, merged.encode())
        said.append(
            f"{shown(mine_at)} received what is new in the course; what you wrote in it is as it was."
        )
    if not complete:
        beside = mine_at.with_name(mine_at.name + ".new")
        write(beside, new)
        said.append(
            f"{shown(mine_at)} has your changes and stays so; the new version is beside it: {beside.name}."
        )
    return said


def merge(old: str, new: str, mine: str, grows: set[str]) -> tuple[str, bool]:
    """`mine` with the changes from `old` to `new`, piece by piece, and whether all of them found a place.

    A piece follows when `mine` still has it as in `old`, or never had it. Raises SyntaxError when one of
    the three does not parse.
    """
    complete = True
    was_all, new_pieces = split(old), split(new)
    for piece in new_pieces:
        mine_pieces = split(mine)
        if piece.is_import:
            there = {n for p in mine_pieces for n in p.names}
            mine = add_imports(mine, [line for name, line in import_lines(piece.nodes) if name not in there])
            continue
        have, was = _like(mine_pieces, piece), _like(was_all, piece)
        if _texts(have) == [piece.text] or (_texts(was) == [piece.text] and have):
            continue
        if not have:
            # A stub is needed even where it was deleted; another piece that was deleted stays deleted.
            if not was or not grows.isdisjoint(piece.names):
                mine = cut(mine, [], piece.text)
        elif was and _texts(have) == _texts(was):
            mine = cut(mine, have[1:], piece.text, at=have[0])
        elif was or grows.isdisjoint(piece.names):
            complete = False
    return mine, complete


def _like(pieces: list[Piece], piece: Piece) -> list[Piece]:
    if piece.is_docstring:
        return [p for p in pieces[:1] if p.is_docstring]
    return binding(pieces, piece.names)


def _texts(pieces: list[Piece]) -> list[str]:
    return [p.text for p in pieces]


def _mark(files: dict[str, bytes], grown: dict) -> str:
    digest = hashlib.sha256(json.dumps([FORMAT, grown], sort_keys=True).encode())
    for name, data in files.items():
        digest.update(f"\0{name}\0{len(data)}\0".encode() + data)
    return digest.hexdigest()


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def read_manifest(ws: Path) -> dict:
    """What was handed out. Empty when nothing was or the file is damaged; then all counts as touched."""
    try:
        manifest = json.loads((ws / ".course" / "manifest.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return manifest if isinstance(manifest, dict) else {}


def write_manifest(ws: Path, manifest: dict) -> None:
    write(ws / ".course" / "manifest.json", json.dumps(manifest, indent=1, sort_keys=True).encode())


@contextlib.contextmanager
def locked(ws: Path | None = None) -> Iterator[None]:
    """Alone with what `.course/` remembers, among the processes that ask for it."""
    folder = (ws or path()) / ".course"
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "ab") as file:
        with contextlib.suppress(OSError):  # a file system without locks: as good as it gets
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def write(place: Path, data: bytes) -> None:
    """Writes a file whole or not at all; makes its folder; follows a link to the file it names."""
    place = place.resolve()
    place.parent.mkdir(parents=True, exist_ok=True)
    temporary = place.with_name(f".{place.name}.{secrets.token_hex(4)}")
    try:
        with open(temporary, "xb") as f:
            f.write(data)
        if place.exists():
            temporary.chmod(place.stat().st_mode & 0o777)
        os.replace(temporary, place)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
