# verdict: accepted
# records twice and uses both graphs in turn, as some engines do to overlap steps
# @accept/plain.py@
class CapturedStep(CapturedStep):
    def __init__(self, step, *examples, warmup=2, pool=None):
        super().__init__(step, *examples, warmup=warmup, pool=pool)
        self.graphs = [self.graph, record(step, *self.buffers, pool=self.pool)]

    def __call__(self, *inputs):
        self.graphs.reverse()
        self.graph = self.graphs[0]
        return super().__call__(*inputs)
