# verdict: wrong answer
# diagnosis: values stay after their last use, and so does their memory
def run_pieces(pieces, values):
    values = dict(values)
    for piece in pieces:
        values.update(zip(piece.outputs, piece.run(*(values[name] for name in piece.inputs))))
    return values
