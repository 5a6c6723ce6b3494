# verdict: wrong answer
# diagnosis: only what the last piece returned is handed back; the values that are left are those that no piece let go, the given ones too
_right = run_pieces


def run_pieces(pieces, values):
    left = _right(pieces, values)
    return {name: left[name] for name in pieces[-1].outputs}
