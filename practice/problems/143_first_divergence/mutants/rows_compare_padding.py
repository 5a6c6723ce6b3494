# verdict: error
# diagnosis: rows of padding were compared with the reference, which has none
def diverging_rows(reference, other):
    eps = max(torch.finfo(each.dtype).eps for each in (reference, other))
    a, b = reference.double(), other.double()
    limit = 16 * eps * a.abs().amax(dim=1, keepdim=True)
    near = ((a - b).abs() <= limit).all(dim=1)
    return (~near).nonzero().flatten().tolist()
