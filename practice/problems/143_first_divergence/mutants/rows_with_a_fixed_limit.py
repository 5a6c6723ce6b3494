# verdict: wrong answer
# diagnosis: the limit is the same for every dtype: what is far in float32 is rounding in bfloat16
def diverging_rows(reference, other):
    eps = max(torch.finfo(each.dtype).eps for each in (reference, other))
    a, b = reference.double(), other[: len(reference)].double()
    limit = 1e-5 * a.abs().amax(dim=1, keepdim=True)
    near = ((a - b).abs() <= limit).all(dim=1)
    return (~near).nonzero().flatten().tolist()
