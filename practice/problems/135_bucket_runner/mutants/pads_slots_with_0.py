# verdict: wrong answer
# diagnosis: the slots of padding are 0, which is a place in the cache; -1 means that no key is written
def fill_with_padding(inputs):
    for tensor in tensors(inputs).values():
        tensor.zero_()
