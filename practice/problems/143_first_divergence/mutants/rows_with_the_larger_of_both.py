# verdict: wrong answer
# diagnosis: the limit grew with the numbers of the other engine too: m is the largest number of the reference's row
def diverging_rows(reference, other):
    eps = max(torch.finfo(each.dtype).eps for each in (reference, other))
    a, b = reference.double(), other[: len(reference)].double()
    limit = 16 * eps * torch.maximum(a.abs(), b.abs()).amax(dim=1, keepdim=True)
    near = ((a - b).abs() <= limit).all(dim=1) & b.isfinite().all(dim=1)
    return (~near).nonzero().flatten().tolist()
