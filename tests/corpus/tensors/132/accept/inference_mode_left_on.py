# verdict: accepted
# inference mode, entered at import and never left
# @accept/plain.py@
_mode = torch.inference_mode()
_mode.__enter__()
