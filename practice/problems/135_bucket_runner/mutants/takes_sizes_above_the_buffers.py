# verdict: wrong answer
# diagnosis: a size that is larger than the buffers was taken: nobody hears of it before the capture, or before the first large batch
class BucketRunner(BucketRunner):
    def __init__(self, step, buffers, sizes):
        super().__init__(step, buffers, [size for size in sizes if size <= buffers.max_reqs])
