# verdict: error
# 4 of 16: a file may hold only some of the functions
def pad_to(bs, sizes):
    return next((s for s in sizes if s >= bs), None)
