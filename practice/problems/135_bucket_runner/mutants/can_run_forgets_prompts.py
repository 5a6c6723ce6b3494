# verdict: wrong answer
# diagnosis: can_run looks at the number of tokens only: no graph for decode steps can take a batch with prompts
class BucketRunner(BucketRunner):
    def can_run(self, batch):
        return bool(self.buckets) and len(batch.input_ids) <= self.sizes[-1]
