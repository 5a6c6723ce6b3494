# verdict: wrong answer|error
# a tensor that escaped from vmap
# @accept/plain.py@
class CapturedStep(CapturedStep):
    def __call__(self, *inputs):
        return tree_map_only(torch.Tensor, lambda x: [torch.vmap(lambda t, kept=kept: kept.append(t) or t)(x.reshape(1, -1)) for kept in [[]]] and x.new_empty(0), super().__call__(*inputs))
