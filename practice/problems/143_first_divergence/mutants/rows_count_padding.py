# verdict: wrong answer
# diagnosis: rows of padding were reported; only those of the reference are compared
def diverging_rows(reference, other):
    eps = max(torch.finfo(each.dtype).eps for each in (reference, other))
    a, b = reference.double(), other[: len(reference)].double()
    limit = 16 * eps * a.abs().amax(dim=1, keepdim=True)
    near = ((a - b).abs() <= limit).all(dim=1)
    near = torch.cat([near, other[len(reference) :].isfinite().all(dim=1) & False])
    return (~near).nonzero().flatten().tolist()
