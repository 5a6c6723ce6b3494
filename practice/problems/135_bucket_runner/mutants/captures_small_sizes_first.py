# verdict: wrong answer
# diagnosis: the graphs were captured from the smallest size to the largest: no graph fits into the memory that the one before left
class BucketRunner(BucketRunner):
    def capture(self):
        for size in self.sizes:
            view = self.buffers.view(size, size, True)
            fill_with_padding(view)
            graph = capture(lambda view=view: self.step(view), pool=self.pool, device=self.buffers.device)
            self.pool = graph.pool
            self.buckets[size] = Bucket(graph, addresses(view), size)

    def run(self, batch):
        size = self.size_for(batch)
        if size is None:
            return self.step(self.buffers.set(batch))
        self.buffers.set(batch, size, size, True)
        return self.buckets[size].graph.replay()[: len(batch.seq_lens)].clone()
