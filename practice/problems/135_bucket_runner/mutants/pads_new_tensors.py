# verdict: wrong answer
# diagnosis: nothing was written: a new tensor got the name, and the memory that a graph reads is as it was
def fill_with_padding(inputs):
    for name, tensor in tensors(inputs).items():
        tensor = torch.full_like(tensor, -1 if name == "slot_mapping" else 0)
