# verdict: wrong answer
# diagnosis: all graphs are replayed first and attention runs behind them; pieces run in their order, each on what those before it have just made
_right = CapturedPieces


class CapturedPieces(_right):
    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.calls.sort(key=lambda call: isinstance(call, _AttentionCall))
