# verdict: wrong answer|error
# a quantized tensor
# @accept/plain.py@
class CapturedStep(CapturedStep):
    def __call__(self, *inputs):
        return tree_map_only(torch.Tensor, lambda x: torch.quantize_per_tensor(x.float(), 1.0, 0, torch.quint8), super().__call__(*inputs))
