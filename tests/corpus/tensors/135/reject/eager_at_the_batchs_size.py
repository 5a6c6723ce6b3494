# verdict: wrong answer
# an eager step that is not even padded
# @accept/plain.py@
class BucketRunner(BucketRunner):
    @torch.no_grad()
    def run(self, batch):
        return self.step(step_inputs(batch, self.buffers.device))
