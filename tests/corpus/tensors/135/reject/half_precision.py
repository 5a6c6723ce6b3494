# verdict: wrong answer
# rows pass through half precision
# @accept/plain.py@
class BucketRunner(BucketRunner):
    def run(self, batch):
        rows = super().run(batch)
        return rows.half().to(rows.dtype)
