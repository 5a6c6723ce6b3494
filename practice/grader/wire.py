"""What crosses between judge and worker: length-prefixed msgpack frames of exact plain types.

Imported on both sides. Nothing here trusts its input: a frame says its length before its bytes, the reader
bounds it, and only `None`, `bool`, `int`, `float`, `str`, `bytes`, `list`, `tuple` and `dict` come out of it.
No pickle, and no object of the learner's ever reaches the judge: a subclass of `int` that answers every `==`
with True is refused where it is, by its type.
"""

from __future__ import annotations

import struct

import msgpack

HEADER = struct.Struct("!I")
MAX_DEPTH = 64
MAX_ITEMS = 1 << 20
MAX_KEYS = 4096  # of one dict: more could be chosen to collide in its hash table
MAX_TEXT = 16 << 20  # characters of one str, bytes of one bytes
_TUPLE, _BIGINT = 1, 2


class NotPlain(TypeError):
    """A value that may not cross; the message names its type or what is wrong with it."""


def encode(value: object) -> object:
    """`value` as msgpack can carry it without changing any type; NotPlain where it can't be."""
    try:
        return _encode(value, 0)
    except UnicodeEncodeError:
        raise NotPlain("text that is not valid Unicode") from None


def _encode(x: object, depth: int) -> object:
    t = type(x)
    if depth > MAX_DEPTH:
        raise NotPlain(f"a value nested deeper than {MAX_DEPTH} levels")
    if x is None or t in (bool, float):
        return x
    if t in (str, bytes) and len(x) > MAX_TEXT:
        raise NotPlain(f"a {t.__name__} of {len(x):,} {'characters' if t is str else 'bytes'}")
    if t is bytes:
        return x
    if t is str:
        x.encode()
        return x
    if t is int and x.bit_length() > MAX_TEXT:
        raise NotPlain(f"an int of {x.bit_length():,} bits")
    if t is int:
        if -(2**63) <= x < 2**64:
            return x
        return msgpack.ExtType(_BIGINT, x.to_bytes(x.bit_length() // 8 + 1, "big", signed=True))
    if t is list:
        return [_encode(v, depth + 1) for v in x]
    if t is tuple:
        return msgpack.ExtType(_TUPLE, msgpack.packb([_encode(v, depth + 1) for v in x]))
    if t is dict:
        for key in x:
            if type(key) not in (int, str, bool, float, type(None)):
                raise NotPlain(f"a dict with a key of type {type_name(key)}")
        return {key: _encode(v, depth + 1) for key, v in x.items()}
    raise NotPlain(f"a value of type {type_name(x)}")


def type_name(x: object) -> str:
    """`numpy.ndarray`, `solution.L`; a builtin goes by its bare name."""
    t = type(x)
    return t.__qualname__ if t.__module__ == "builtins" else f"{t.__module__}.{t.__qualname__}"


def decode(data: bytes, depth: int = 0) -> object:
    """The value in these bytes; ValueError for anything that `encode` would not have made."""
    if depth > MAX_DEPTH:
        raise ValueError("nested too deeply")

    def ext(code: int, body: bytes) -> object:
        if code == _TUPLE:
            return tuple(decode(body, depth + 1))
        if code == _BIGINT:
            return int.from_bytes(body, "big", signed=True)
        raise ValueError(f"unknown extension {code}")

    try:
        return msgpack.unpackb(data, strict_map_key=False, ext_hook=ext, max_array_len=MAX_ITEMS, max_map_len=MAX_KEYS)
    except ValueError:
        raise
    except Exception as e:  # msgpack's own errors, and TypeError for an unhashable key
        raise ValueError(f"not a frame: {type(e).__name__}") from None


def frame(message: list) -> bytes:
    """A whole message: four bytes of length, then msgpack. Its values must be encoded already."""
    body = msgpack.packb(message)
    return HEADER.pack(len(body)) + body
