# verdict: wrong answer
# diagnosis: one limit was used for all rows, from the largest number of the layer: a row of small numbers has a smaller one
def diverging_rows(reference, other):
    eps = max(torch.finfo(each.dtype).eps for each in (reference, other))
    a, b = reference.double(), other[: len(reference)].double()
    limit = 16 * eps * a.abs().max()
    near = ((a - b).abs() <= limit).all(dim=1)
    return (~near).nonzero().flatten().tolist()
