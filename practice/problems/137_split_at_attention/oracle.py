"""The right answers, read off one value and one piece at a time. Lives in the judge's process only."""

from __future__ import annotations

import torch


def piece_numbers(calls, op):
    """A new piece begins at call i when it, or the one before it, is a call of `op`."""
    operators = [call[1] for call in calls]
    begins = [i for i in range(1, len(calls)) if op in operators[i - 1 : i + 1]]
    return [sum(begin <= i for begin in begins) for i in range(len(calls))]


def crossing_values(calls, numbers, results):
    answer = []
    for piece in range(max(numbers) + 1 if numbers else 0):
        inside = [call for call, number in zip(calls, numbers, strict=True) if number == piece]
        others = [call for call, number in zip(calls, numbers, strict=True) if number != piece]
        made = [name for name, _, _ in inside]
        inputs = []
        for name in (name for _, _, reads in inside for name in reads):
            if name not in made and name not in inputs:
                inputs.append(name)
        wanted = [*results, *(name for _, _, reads in others for name in reads)]
        answer.append((inputs, [name for name in made if name in wanted]))
    return answer


def last_uses(crossing, results):
    answer = []
    for i, (inputs, _) in enumerate(crossing):
        made_before = [name for _, outputs in crossing[:i] for name in outputs]
        read_later = [name for later, _ in crossing[i + 1 :] for name in later]
        answer.append([n for n in inputs if n in made_before and n not in read_later and n not in results])
    return answer


# --- steps written as lines of code -----------------------------------------------------------------


def attention(q, k):
    return q.flip(0) * 2 + k


NAMES = {"attention": attention} | {name: getattr(torch, name) for name in ("add", "mul", "cat", "relu", "where")}


def run(lines, values, returns):
    """What the step returns: its lines are Python."""
    space = NAMES | {name: value.clone() for name, value in values.items()}
    for line in lines:
        exec(line, space)
    return [space[name] for name in returns]


def calls_of(lines, names):
    """The lines as `calls`. `names` are all values there are."""
    calls = []
    for line in lines:
        name, code = line.split(" = ")
        words = "".join(c if c.isalnum() or c == "_" else " " for c in code).split()
        function = next(word for word in words if word not in names)
        calls.append((name, function, [word for word in words if word in names]))
    return calls


def pieces(lines, given, returns):
    """What `scene.of_each_piece` finds when the split is right, by what it is asked for."""
    calls = calls_of(lines, {*given, *(line.split(" = ")[0] for line in lines)})
    numbers = piece_numbers(calls, "attention")
    crossing = crossing_values(calls, numbers, returns)
    inside = [[call[1] for call, number in zip(calls, numbers, strict=True) if number == i] for i in {*numbers}]
    return {
        "calls": inside,
        "inputs": [sorted(inputs) for inputs, _ in crossing],
        "outputs": [sorted(outputs) for _, outputs in crossing],
        "splits": [names == ["attention"] for names in inside],
        "last_uses": [sorted(free) for free in last_uses(crossing, returns)],
    }
