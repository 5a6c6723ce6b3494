"""The wire carries exact plain types, and nothing that a worker sends can hurt its reader."""

from __future__ import annotations

import math
import struct

import msgpack
import pytest

from grader import wire


def through(value):
    return wire.decode(msgpack.packb(wire.encode(value)))


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        False,
        0,
        -1,
        2**63,
        2**64,
        -(2**63) - 1,
        10**40,
        -(10**40),
        1.5,
        "ü文",
        b"\x00\xff",
        [],
        [1, [2]],
        (),
        (1, (2.0,)),
        {},
        {1: [2], "a": (3,)},
        {True: 1},
        [None, (True, {2: b""})],
    ],
)
def test_values_come_back_with_their_types(value):
    back = through(value)
    assert repr(back) == repr(value)


def test_nan_and_infinity_cross():
    assert math.isnan(through(float("nan"))) and through(float("-inf")) == float("-inf")


class AlwaysEqual(int):
    def __eq__(self, other):
        return True

    __hash__ = int.__hash__


@pytest.mark.parametrize(
    "value", [AlwaysEqual(1), {1, 2}, object(), 1j, range(3), {(1, 2): 3}, [AlwaysEqual(2)], "\ud800", lambda: 1]
)
def test_other_types_are_refused(value):
    with pytest.raises(wire.NotPlain):
        wire.encode(value)


def test_deep_and_large_values_are_refused_before_they_cost():
    deep = []
    for _ in range(100_000):
        deep = [deep]
    for value in (deep, "x" * (wire.MAX_TEXT + 1), 1 << (wire.MAX_TEXT * 2)):
        with pytest.raises(wire.NotPlain):
            wire.encode(value)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xc1",
        b"\x91",
        msgpack.packb([1]) + b"x",
        msgpack.packb(msgpack.ExtType(9, b"")),
        b"\xdd\xff\xff\xff\xff",
        b"\xdf\xff\xff\xff\xff",
        b"\xdb\xff\xff\xff\xff",
        msgpack.packb({}) * 2,
        msgpack.packb(msgpack.ExtType(1, b"\xdd\xff\xff\xff\xff")),
        b"\x81\x90\x01",
        b"\x91" * 5000 + b"\xc0",
    ],
)
def test_forged_bytes_raise_value_error_and_nothing_else(data):
    with pytest.raises(ValueError):
        wire.decode(data)


def test_tuples_inside_tuples_are_bounded():
    data = msgpack.packb(None)
    for _ in range(wire.MAX_DEPTH + 2):
        data = msgpack.packb(msgpack.ExtType(1, b"\x91" + data))
    with pytest.raises(ValueError, match="nested"):
        wire.decode(data)


def test_a_frame_says_its_length_first():
    data = wire.frame(["id", "ok", 1, None])
    assert struct.unpack("!I", data[:4])[0] == len(data) - 4


def test_tensors_are_put_on_a_device_wherever_they_are(monkeypatch):
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(wire, "_torch", None)
    wire.carry_tensors()
    sent = [[torch.ones(2)], {"a": (torch.ones(0), 3), 4: "text"}, wire.Handle(1)]
    came = wire.on_device(through(sent), "meta")
    assert came[0][0].device.type == came[1]["a"][0].device.type == "meta" and came[0][0].shape == (2,)
    assert type(came[1]["a"]) is tuple and came[1]["a"][1] == 3 and came[1][4] == "text" and came[2] == wire.Handle(1)
