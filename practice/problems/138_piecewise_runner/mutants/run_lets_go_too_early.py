# verdict: error|wrong answer
# diagnosis: a value is let go before the piece that uses it last has run
def run_pieces(pieces, values):
    values = dict(values)
    for piece in pieces:
        for name in piece.last_uses:
            del values[name]
        values.update(zip(piece.outputs, piece.run(*(values[name] for name in piece.inputs))))
    return values
