# verdict: wrong answer
# diagnosis: a row with nan was taken for right: no comparison with nan is true, so ask what is near, not what is far
def diverging_rows(reference, other):
    eps = max(torch.finfo(each.dtype).eps for each in (reference, other))
    a, b = reference.double(), other[: len(reference)].double()
    limit = 16 * eps * a.abs().amax(dim=1, keepdim=True)
    far = ((a - b).abs() > limit).any(dim=1)
    return far.nonzero().flatten().tolist()
