# verdict: wrong answer
# diagnosis: each number was given a limit of its own; the largest number of the row decides, since sums round with it
def diverging_rows(reference, other):
    eps = max(torch.finfo(each.dtype).eps for each in (reference, other))
    a, b = reference.double(), other[: len(reference)].double()
    limit = 16 * eps * a.abs()
    near = ((a - b).abs() <= limit).all(dim=1)
    return (~near).nonzero().flatten().tolist()
