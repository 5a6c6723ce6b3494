# verdict: error|wrong answer
# diagnosis: every piece with splits ran with what the last turn of the loop left: a function made in a loop looks its names up when it is called
class CapturedPieces:
    def __init__(self, pieces, values, pool=None, warmup=1, attended=None):
        self.pool, self.calls, values = pool, [], dict(values)
        for piece in pieces:
            arguments = [values[name] for name in piece.inputs]
            if piece.splits:
                result = values[piece.outputs[0]] = torch.zeros_like(arguments[0])
                self.calls.append(lambda: result.copy_(piece.run(*arguments)[0]))
            else:
                graph = capture(piece.run, *arguments, warmup=warmup, pool=self.pool)
                self.pool = graph.pool
                values.update(zip(piece.outputs, graph.output, strict=True))
                self.calls.append(graph.replay)
            for name in piece.last_uses:
                del values[name]
        self.values = values

    def replay(self):
        for call in self.calls:
            call()
        return dict(self.values)
