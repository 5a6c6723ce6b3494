# verdict: wrong answer
# diagnosis: a difference of the last bits was taken for a fault: two fast engines never agree to the bit
def diverging_rows(reference, other):
    eps = max(torch.finfo(each.dtype).eps for each in (reference, other))
    a, b = reference.double(), other[: len(reference)].double()
    limit = 16 * eps * a.abs().amax(dim=1, keepdim=True)
    near = (a == b).all(dim=1)
    return (~near).nonzero().flatten().tolist()
