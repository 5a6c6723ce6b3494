# verdict: wrong answer
# diagnosis: the eps is that of the finer dtype; the coarser one decides
def diverging_rows(reference, other):
    eps = min(torch.finfo(each.dtype).eps for each in (reference, other))
    a, b = reference.double(), other[: len(reference)].double()
    limit = 16 * eps * a.abs().amax(dim=1, keepdim=True)
    near = ((a - b).abs() <= limit).all(dim=1)
    return (~near).nonzero().flatten().tolist()
