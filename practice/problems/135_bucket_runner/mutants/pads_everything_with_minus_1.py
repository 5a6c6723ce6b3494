# verdict: wrong answer
# diagnosis: -1 stands in more than the slots: no token and no block has this number, the others are 0
def fill_with_padding(inputs):
    for tensor in tensors(inputs).values():
        tensor.fill_(-1)
