# verdict: wrong answer
# diagnosis: the mean difference of a row was compared; one number that is far off is enough
def diverging_rows(reference, other):
    eps = max(torch.finfo(each.dtype).eps for each in (reference, other))
    a, b = reference.double(), other[: len(reference)].double()
    limit = 16 * eps * a.abs().amax(dim=1, keepdim=True)
    near = (a - b).abs().mean(dim=1) <= limit[:, 0]
    return (~near).nonzero().flatten().tolist()
