# verdict: accepted
# everything runs in inference mode, results are inference tensors
# @accept/plain.py@
class CapturedStep(CapturedStep):
    @torch.inference_mode()
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)

    @torch.inference_mode()
    def __call__(self, *inputs):
        return super().__call__(*inputs)
