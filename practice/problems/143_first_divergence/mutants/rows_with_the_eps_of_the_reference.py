# verdict: wrong answer
# diagnosis: the eps is that of the reference; where the other engine is coarser, its eps decides
def diverging_rows(reference, other):
    eps = torch.finfo(reference.dtype).eps
    a, b = reference.double(), other[: len(reference)].double()
    limit = 16 * eps * a.abs().amax(dim=1, keepdim=True)
    near = ((a - b).abs() <= limit).all(dim=1)
    return (~near).nonzero().flatten().tolist()
