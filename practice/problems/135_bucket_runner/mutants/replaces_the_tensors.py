# verdict: error|wrong answer
# diagnosis: `inputs` was given other tensors, which it does not allow, and a graph would not see: write into the ones that are there
def fill_with_padding(inputs):
    inputs.slot_mapping = torch.full_like(inputs.slot_mapping, -1)
