# verdict: wrong answer
# diagnosis: the rows that were returned are the graph's own memory: the next run overwrites them
class BucketRunner(BucketRunner):
    def run(self, batch, clone=False):
        return super().run(batch, clone=False)
