# verdict: wrong answer|error
# diagnosis: each piece gets what the piece before returned; it must get its inputs, which may come from any piece before, or from the start
def run_pieces(pieces, values):
    outputs = [values[name] for name in pieces[0].inputs]
    for piece in pieces:
        outputs = piece.run(*outputs)
    return values | dict(zip(piece.outputs, outputs))
