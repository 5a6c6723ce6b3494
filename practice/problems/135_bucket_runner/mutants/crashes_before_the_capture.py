# verdict: error|wrong answer
# diagnosis: the size was looked up among the sizes that were asked for, not among those that were captured: before `capture` no graph is there
class BucketRunner(BucketRunner):
    def size_for(self, batch):
        return pad_to(len(batch.input_ids), self.sizes) if batch.query_len() == 1 else None
