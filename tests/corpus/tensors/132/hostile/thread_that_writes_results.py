# verdict: wrong answer
# a thread goes on writing into what was returned
# @accept/plain.py@
import threading
import time


class CapturedStep(CapturedStep):
    def __call__(self, *inputs):
        result = super().__call__(*inputs)

        def spoil():
            while True:
                tree_map_only(torch.Tensor, lambda x: x.fill_(0), result)
                time.sleep(0.001)

        threading.Thread(target=spoil, daemon=True).start()
        time.sleep(0.05)
        return result
