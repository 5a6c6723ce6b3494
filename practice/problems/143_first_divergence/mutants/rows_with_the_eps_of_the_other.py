# verdict: wrong answer
# diagnosis: the eps is that of the other engine; where the reference is coarser, its eps decides
def diverging_rows(reference, other):
    eps = torch.finfo(other.dtype).eps
    a, b = reference.double(), other[: len(reference)].double()
    limit = 16 * eps * a.abs().amax(dim=1, keepdim=True)
    near = ((a - b).abs() <= limit).all(dim=1)
    return (~near).nonzero().flatten().tolist()
