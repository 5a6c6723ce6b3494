"""What crosses between judge and worker: length-prefixed msgpack frames of exact plain types and of tensors.

Imported on both sides. Nothing here trusts its input: a frame says its length before its bytes, the reader
bounds it, and only `None`, `bool`, `int`, `float`, `str`, `bytes`, `list`, `tuple`, `dict` and, for a problem that
needs torch, `torch.Tensor` come out of it. No pickle, and no object of the learner's ever reaches the judge: a
subclass of `int` that answers every `==` with True is refused where it is, by its type, and of a tensor only its
dtype, its shape and the bytes of its numbers cross. An object that stays in the worker goes by a `Handle`.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass

import msgpack

HEADER = struct.Struct("!I")
MAX_DEPTH = 64
MAX_ITEMS = 1 << 20
MAX_KEYS = 4096  # of one dict: more could be chosen to collide in its hash table
MAX_TEXT = 16 << 20  # characters of one str, bytes of one bytes
MAX_BITS = 1 << 13  # of an int: Python prints none of more than 4,300 digits
MOST_WARNINGS, MOST_TEXT = 20, 500  # of a call, and characters of one of them
MOST_TRACE = 24_000  # characters of a traceback with its message
MAX_TUPLES = 8  # tuples inside tuples: each level copies what is in it
MAX_DIMS = 16
_TUPLE, _BIGINT, _TENSOR, _HANDLE = 1, 2, 3, 4
_TIMESTAMPS = (b"\xd6\xff", b"\xd7\xff", b"\xc7\x0c\xff")  # how msgpack begins the one more type it knows
# bytes of a number; npy has no bfloat16, so the bytes cross as they are
DTYPES = {"float32": 4, "float64": 8, "bfloat16": 2, "float16": 2, "int64": 8, "int32": 4, "int16": 2, "int8": 1}
DTYPES |= {"uint8": 1, "bool": 1}


class NotPlain(TypeError):
    """A value that may not cross; the message names its type or what is wrong with it."""


@dataclass(frozen=True)
class Handle:
    """Stands for an object that stays in the worker. The judge makes them; `name` is what a report calls it."""

    id: int
    name: str = ""


class _Torch:
    """Tensors across the wire: what is needed of torch, taken before any of the learner's code ran."""

    def __init__(self):
        import torch

        self.torch, self.Tensor = torch, torch.Tensor
        self.dtypes = {name: getattr(torch, name) for name in DTYPES}
        self.names = {dtype: name for name, dtype in self.dtypes.items()}

    def pack(self, x) -> msgpack.ExtType:
        torch = self.torch
        try:
            if x.layout is not torch.strided or x.device.type not in ("cpu", "cuda"):
                raise NotPlain(f"a tensor of layout {x.layout} on the device {x.device}")
            if x.dtype not in self.names:
                raise NotPlain(f"a tensor of {x.dtype}")
            if x.dim() > MAX_DIMS:
                raise NotPlain(f"a tensor of {x.dim()} dimensions")
            if x.numel() * x.element_size() > MAX_TEXT:
                raise NotPlain(f"a tensor of {x.numel() * x.element_size():,} bytes")
            name, shape = self.names[x.dtype], [int(n) for n in x.shape]
            x = x.detach().resolve_neg().cpu()  # waits for the GPU
            x = x.clone(memory_format=torch.contiguous_format)  # contiguous() leaves one element with a stride of three
            data = x.reshape(-1).view(torch.uint8).numpy().tobytes()
        except NotPlain:
            raise
        except Exception as e:
            if "CUDA error" in str(e):  # of a kernel that failed after its launch
                raise
            raise NotPlain("a tensor whose numbers cannot be read") from None
        return msgpack.ExtType(_TENSOR, msgpack.packb([name, shape, data]))

    def unpack(self, body: bytes):
        torch = self.torch
        name, shape, data = msgpack.unpackb(body, max_array_len=MAX_DIMS, max_ext_len=0)
        if type(name) is not str or type(shape) is not list or type(data) is not bytes or name not in DTYPES:
            raise ValueError("a tensor without dtype, shape and bytes")
        if not all(type(n) is int and 0 <= n < 2**31 for n in shape):
            raise ValueError("a tensor whose shape is none")
        if math.prod(shape) * DTYPES[name] != len(data):  # before anything is allocated
            raise ValueError("a tensor whose bytes do not fit its shape")
        if name == "bool" and data.strip(b"\0\1"):
            raise ValueError("a bool that is neither")
        if not data:
            return torch.empty(shape, dtype=self.dtypes[name])
        return torch.frombuffer(bytearray(data), dtype=self.dtypes[name]).reshape(shape)


_torch: _Torch | None = None


def carry_tensors() -> None:
    """From here on tensors cross, in both directions; what arrives is on the CPU. Imports torch."""
    global _torch
    _torch = _Torch()


def on_device(x: object, device: str) -> object:
    """What `decode` gave, with its tensors on `device`."""
    t = type(x)
    if t in (list, tuple):
        return t(on_device(v, device) for v in x)
    if t is dict:
        return {key: on_device(v, device) for key, v in x.items()}
    return x.to(device) if _torch is not None and t is _torch.Tensor else x


def encode(value: object) -> object:
    """`value` as msgpack can carry it without changing any type; NotPlain where it can't be."""
    try:
        return _encode(value, 0)
    except UnicodeEncodeError:
        raise NotPlain("text that is not valid Unicode") from None


def _encode(x: object, depth: int, tuples: int = 0) -> object:
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
    if t is int and x.bit_length() > MAX_BITS:
        raise NotPlain(f"an int of {x.bit_length():,} bits")
    if t is int:
        if -(2**63) <= x < 2**64:
            return x
        return msgpack.ExtType(_BIGINT, x.to_bytes(x.bit_length() // 8 + 1, "big", signed=True))
    if t is list:
        return [_encode(v, depth + 1, tuples) for v in x]
    if _torch is not None and t is _torch.Tensor:
        return _torch.pack(x)
    if t is Handle:
        return msgpack.ExtType(_HANDLE, x.id.to_bytes(4, "big"))
    if t is tuple:
        if tuples == MAX_TUPLES:
            raise NotPlain(f"tuples nested deeper than {MAX_TUPLES} levels")
        return msgpack.ExtType(_TUPLE, msgpack.packb([_encode(v, depth + 1, tuples + 1) for v in x]))
    if t is dict:
        for key in x:
            if type(key) not in (int, str, bool, float, type(None)):
                raise NotPlain(f"a dict with a key of type {type_name(key)}")
        return {key: _encode(v, depth + 1, tuples) for key, v in x.items()}
    raise NotPlain(f"a value of type {type_name(x)}")


def type_name(x: object) -> str:
    """`numpy.ndarray`, `solution.L`; a builtin goes by its bare name."""
    t = type(x)
    return t.__qualname__ if t.__module__ == "builtins" else f"{t.__module__}.{t.__qualname__}"


def decode(data: bytes, depth: int = 0) -> object:
    """The value in these bytes, made of nothing but the types above; ValueError where they are none."""
    if depth > MAX_TUPLES:
        raise ValueError("tuples nested too deeply")

    def ext(code: int, body: bytes) -> object:
        if code == _TUPLE:
            return tuple(decode(body, depth + 1))
        if code == _BIGINT and len(body) <= MAX_BITS // 8 + 1:
            return int.from_bytes(body, "big", signed=True)
        if code == _TENSOR and _torch is not None:
            return _torch.unpack(body)
        if code == _HANDLE and len(body) == 4:
            return Handle(int.from_bytes(body, "big"))
        raise ValueError(f"unknown extension {code}")

    try:
        value = msgpack.unpackb(data, strict_map_key=False, ext_hook=ext, max_array_len=MAX_ITEMS, max_map_len=MAX_KEYS)
        if any(start in data for start in _TIMESTAMPS):
            _refuse_timestamps(value)
        return value
    except ValueError:
        raise
    except Exception as e:  # msgpack's own errors, and TypeError for an unhashable key
        raise ValueError(f"not a frame: {type(e).__name__}") from None


def _refuse_timestamps(x: object) -> None:
    if type(x) is msgpack.Timestamp:
        raise ValueError("a timestamp")
    if type(x) in (list, tuple, dict):
        for v in x.values() if type(x) is dict else x:
            _refuse_timestamps(v)


def frame(message: list) -> bytes:
    """A whole message: four bytes of length, then msgpack. Its values must be encoded already."""
    body = msgpack.packb(message)
    return HEADER.pack(len(body)) + body
