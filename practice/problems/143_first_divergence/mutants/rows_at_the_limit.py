# verdict: wrong answer
# diagnosis: a difference of exactly the limit was taken for a fault: it must be larger than the limit
def diverging_rows(reference, other):
    eps = max(torch.finfo(each.dtype).eps for each in (reference, other))
    a, b = reference.double(), other[: len(reference)].double()
    limit = 16 * eps * a.abs().amax(dim=1, keepdim=True)
    near = ((a - b).abs() < limit).all(dim=1)
    return (~near).nonzero().flatten().tolist()
