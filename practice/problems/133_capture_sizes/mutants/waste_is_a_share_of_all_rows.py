# verdict: wrong answer
# diagnosis: this is the share of padded rows among all rows; the mean number of padded rows per step was asked for
def expected_waste(dist, sizes):
    padded = run = 0
    for bs, n in dist.items():
        size = pad_to(bs, sizes) or bs
        padded, run = padded + n * (size - bs), run + n * size
    return padded / run if run else 0
