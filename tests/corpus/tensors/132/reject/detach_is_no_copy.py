# verdict: wrong answer
# detach gives another tensor on the same memory
# @accept/plain.py@
class CapturedStep(CapturedStep):
    def __call__(self, *inputs):
        copy_in(self.buffers, inputs)
        return tree_map_only(torch.Tensor, torch.Tensor.detach, self.graph.replay())
