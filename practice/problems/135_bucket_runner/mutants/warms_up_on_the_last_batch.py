# verdict: wrong answer
# diagnosis: the capture wrote over keys that are in use: it runs the step, and the buffers still held the slots of the last batch
class BucketRunner(BucketRunner):
    def capture(self):
        for size in reversed(self.sizes):
            view = self.buffers.view(size, size, True)
            graph = capture(lambda view=view: self.step(view), pool=self.pool, device=self.buffers.device)
            self.pool = graph.pool
            self.buckets[size] = Bucket(graph, addresses(view), size)

    def run(self, batch):
        size = self.size_for(batch)
        if size is None:
            return self.step(self.buffers.set(batch))
        self.buffers.set(batch, size, size, True)
        return self.buckets[size].graph.replay()[: len(batch.seq_lens)].clone()
