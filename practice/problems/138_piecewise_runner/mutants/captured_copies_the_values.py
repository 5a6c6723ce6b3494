# verdict: wrong answer
# diagnosis: the graphs read copies of the values that were given; new numbers in those tensors do not reach them
_right = CapturedPieces


class CapturedPieces(_right):
    def __init__(self, pieces, values, *rest, **options):
        self.copies = {name: value.clone() for name, value in values.items()}
        super().__init__(pieces, self.copies, *rest, **options)
