# verdict: wrong answer
# diagnosis: the comparison itself rounded: the difference must be taken in float64, not in the dtype of the outputs
def diverging_rows(reference, other):
    eps = max(torch.finfo(each.dtype).eps for each in (reference, other))
    a, b = reference, other[: len(reference)]
    limit = 16 * eps * a.abs().amax(dim=1, keepdim=True)
    near = ((a - b).abs() <= limit).all(dim=1)
    return (~near).nonzero().flatten().tolist()
