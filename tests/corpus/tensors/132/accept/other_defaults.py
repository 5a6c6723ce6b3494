# verdict: accepted
# changes torch's global settings, none of which is about the answer
# @accept/plain.py@
torch.set_default_dtype(torch.float64)
torch.set_grad_enabled(False)
torch.set_printoptions(precision=1, profile="full")
torch.set_flush_denormal(True)
torch.manual_seed(7)
