# verdict: error|wrong answer
# diagnosis: a piece with splits was run at capture, where there is no batch yet; only replays may run it
class CapturedPieces:
    def __init__(self, pieces, values, pool=None, warmup=1, attended=None):
        self.pool, self.graphs, values = pool, [], dict(values)
        for piece in pieces:
            graph = capture(piece.run, *(values[name] for name in piece.inputs), warmup=warmup, pool=self.pool)
            self.pool = graph.pool
            self.graphs.append(graph)
            values.update(zip(piece.outputs, graph.output))
        self.values = values

    def replay(self):
        for graph in self.graphs:
            graph.replay()
        return self.values
