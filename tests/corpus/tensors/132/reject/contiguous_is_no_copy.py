# verdict: wrong answer
# contiguous() copies only what is not contiguous
# @accept/plain.py@
class CapturedStep(CapturedStep):
    def __call__(self, *inputs):
        copy_in(self.buffers, inputs)
        return tree_map_only(torch.Tensor, torch.Tensor.contiguous, self.graph.replay())
