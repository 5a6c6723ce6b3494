# verdict: error
# diagnosis: the place for what attention returns was made like its last input; it has the shape of the first one
class CapturedPieces:
    def __init__(self, pieces, values, pool=None, warmup=1):
        self.pool, self.calls, values = pool, [], dict(values)
        for piece in pieces:
            arguments = [values[name] for name in piece.inputs]
            if piece.splits:
                outputs = (torch.zeros_like(arguments[-1]),)
                self.calls.append(_AttentionCall(piece.run, arguments, outputs[0]))
            else:
                graph = capture(piece.run, *arguments, warmup=warmup, pool=self.pool)
                self.pool, outputs = graph.pool, graph.output
                self.calls.append(graph.replay)
            values.update(zip(piece.outputs, outputs, strict=True))
            for name in piece.last_uses:
                del values[name]
        self.values = values

    def replay(self):
        for call in self.calls:
            call()
        return dict(self.values)
