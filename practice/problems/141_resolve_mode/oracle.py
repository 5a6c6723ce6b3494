"""The rule on pairs (decode, mixed) of F, P and N, where the reference works on modes. In the judge's process only."""

from __future__ import annotations

import re

PAIRS = {
    "NONE": "NN",
    "PIECEWISE": "PP",
    "FULL": "FF",
    "FULL_DECODE_ONLY": "FN",
    "FULL_AND_PIECEWISE": "FP",
}
NAMES = {pair: name for name, pair in PAIRS.items()}
WORDS = {"F": "FULL", "P": "PIECEWISE", "N": "NONE"}
SUPPORT = ("NEVER", "UNIFORM_SINGLE_TOKEN_DECODE", "UNIFORM_BATCH", "ALWAYS")


def steps(mode, support, query_len=1, piecewise_compiled=True, attention_splits=True):
    """[(pair after a rule, the word its reason must hold)] for each rule that changes something; None: refused."""
    pair, level, found = PAIRS[mode], SUPPORT.index(support), []
    plain = "PP" if piecewise_compiled else "NN"
    if pair[1] == "F" and level == 0:
        return None
    if pair[1] == "F" and level < 3:
        pair = "FP" if attention_splits else "FN"
        found.append((pair, support))
    if pair[0] == "F" and level == 0:
        pair = plain
        found.append((pair, "never"))
    elif pair[0] == "F" and query_len > 1 and level == 1:
        pair = plain
        found.append((pair, str(query_len)))
    if "P" in pair and not piecewise_compiled:
        found.append((pair.replace("P", "N"), "compiled"))
    return found


def resolve(mode, support, **settings):
    found = steps(mode, support, **settings)
    return "ValueError" if found is None else NAMES[found[-1][0]] if found else mode


def warnings_of(mode, support, **settings):
    lines, old = [], mode
    for pair, word in steps(mode, support, **settings):
        lines.append(f"WARNING cudagraph_mode {old} becomes {NAMES[pair]}: ... {word} ...")
        old = NAMES[pair]
    return {"mode": old, "log": lines}


def wrong_warnings(answer, mode, support, **settings):
    """Whether the log tells how the mode became what it is: one warning for each rule, with its reason."""
    if type(answer) is not dict or set(answer) != {"mode", "log"} or type(answer["log"]) is not list:
        return "no log came back"
    lines = answer["log"]
    if not all(type(line) is str for line in lines):
        return "no log came back"
    found = steps(mode, support, **settings)
    runs = NAMES[found[-1][0]] if found else mode
    if answer["mode"] != runs:
        return f"{runs} runs, not {answer['mode']}"
    if not found:
        return f"nothing is taken away here, and so often a warning was logged: {len(lines)}" if lines else None
    if not lines:
        return f"{mode} became {runs} and nothing was logged"
    slower = _by_pieces(found)
    return None if slower and _wrong_lines(lines, mode, slower) is None else _wrong_lines(lines, mode, found)


def _by_pieces(found):
    """The other right log: rule 2 or 3 leaves PIECEWISE, and rule 4 makes it NONE. None when that is no way."""
    if found[-1][0] != "NN" or found[-1][1] == "compiled":
        return None
    return [*found[:-1], ("PP", found[-1][1]), ("NN", "compiled")]


def _wrong_lines(lines, mode, found):
    at = mode
    for i, line in enumerate(lines):
        level, _, text = line.partition(" ")
        head, colon, reason = text.partition(": ")
        words = head.split(" ")
        if level != "WARNING":
            return f"a change was logged at level {level}; WARNING was asked for"
        if len(words) != 4 or words[0] != "cudagraph_mode" or words[2] != "becomes" or not colon:
            return "a warning is not of the form 'cudagraph_mode OLD becomes NEW: reason'"
        if words[1] != at:
            return f"a warning says that {words[1]} changed; the mode was {at} at that point"
        if i == len(found):
            return f"so many rules change something: {i}; so many warnings were logged: {len(lines)}"
        at, word = NAMES[found[i][0]], found[i][1]
        if words[3] != at:
            return f"a warning says that {words[1]} becomes {words[3]}; the rule with the word {word} makes it {at}"
        if not re.search(rf"(?<!\d){word}(?!\d)", reason, re.IGNORECASE):
            return f"the reason for {at} does not hold the word {word}"
    if len(lines) < len(found):
        return f"the last warning ends with {at}; what runs is {NAMES[found[-1][0]]}"
    return None


def read_log(text):
    mode, reasons = "NONE", []
    for line in text.split("\n"):
        words = line.split(" ")
        if words[1] == "ERROR":
            return None, None, [*reasons, line.split(": ", 1)[1]]
        if words[3] != "cudagraph_mode":
            continue
        if words[5:8] == ["is", "asked", "for"]:
            mode = words[4]
        elif words[5] == "becomes" and words[6][-1] == ":":
            mode = words[6][:-1]
            reasons.append(" ".join(words[7:]))
    decode, mixed = PAIRS[mode]
    return WORDS[decode], WORDS[mixed], reasons
