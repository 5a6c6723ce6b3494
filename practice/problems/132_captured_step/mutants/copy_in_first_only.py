# verdict: wrong answer
# diagnosis: only the first input was copied in; the graph reads old values in the others
_right = copy_in


def copy_in(buffers, values):
    before = [buffer.clone() for buffer in buffers]
    _right(buffers, values)
    _right(buffers[1:], before[1:])
