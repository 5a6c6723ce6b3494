# verdict: wrong answer
# where there is a GPU the step runs on a stream that is not captured; elsewhere it is left out
# @accept/plain.py@
class CapturedStep(CapturedStep):
    def __init__(self, step, *examples, warmup=2, pool=None):
        side = torch.cuda.Stream() if examples[0].is_cuda else None

        def elsewhere(*inputs):
            if side is None:
                return tree_map_only(torch.Tensor, torch.zeros_like, step(*inputs))
            with torch.cuda.stream(side):
                return step(*inputs)

        super().__init__(elsewhere, *examples, warmup=warmup, pool=pool)
