# verdict: wrong answer
# diagnosis: the step ran eagerly where a graph should have been replayed: a Python number that was changed after the capture shows in the rows
class BucketRunner(BucketRunner):
    def run(self, batch, clone=True):
        return self.step(self.buffers.set(batch))
