# verdict: wrong answer
# diagnosis: values are let go after the last piece only; until then their memory cannot serve other pieces
def run_pieces(pieces, values):
    values = dict(values)
    for piece in pieces:
        values.update(zip(piece.outputs, piece.run(*(values[name] for name in piece.inputs))))
    for piece in pieces:
        for name in piece.last_uses:
            del values[name]
    return values
