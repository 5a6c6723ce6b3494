# verdict: wrong answer
# a few bytes that stand for two thousand million empty rows: what prints them one by one runs out of memory
# @reject/eager.py@
import torch


def copy_in(buffers, values):
    return torch.empty(2**31 - 1, 0)
