# verdict: wrong answer|error
# tensors in shared memory, and names of the files behind them
# @reject/eager.py@
class CapturedStep(CapturedStep):
    def __call__(self, *inputs):
        return tree_map_only(torch.Tensor, torch.Tensor.share_memory_, super().__call__(*inputs))
