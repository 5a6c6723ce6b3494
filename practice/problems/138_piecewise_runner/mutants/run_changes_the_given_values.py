# verdict: wrong answer
# diagnosis: the dict that was given is changed; the next run finds other names in it
def run_pieces(pieces, values):
    for piece in pieces:
        outputs = piece.run(*(values[name] for name in piece.inputs))
        values.update(zip(piece.outputs, outputs))
        for name in piece.last_uses:
            del values[name]
    return values
