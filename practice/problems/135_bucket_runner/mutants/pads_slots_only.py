# verdict: wrong answer
# diagnosis: only the slots are padding: lengths, tokens and block tables are still those of the last batch
def fill_with_padding(inputs):
    inputs.slot_mapping.fill_(-1)
