# verdict: wrong answer
# diagnosis: the rows of padding were returned as well: only the first ones belong to requests
class BucketRunner(BucketRunner):
    def run(self, batch, clone=True):
        rows, size = super().run(batch, clone=False), self.size_for(batch)
        return rows if size is None else self.output[:size].clone()
