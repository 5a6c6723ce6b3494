# verdict: wrong answer
# diagnosis: can_run gave the size of the graph, or None; it says True or False
class BucketRunner(BucketRunner):
    def can_run(self, batch):
        return self.size_for(batch)
