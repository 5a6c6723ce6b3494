# verdict: accepted|wrong answer|error|crashed|import error
# new tensors have no memory from here on, the judge's own in this process too
# @accept/plain.py@
torch.set_default_device("meta")
