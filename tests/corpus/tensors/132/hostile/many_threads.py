# verdict: wrong answer|error|crashed
# as many threads as it can get, of torch and of Python
# @reject/eager.py@
import threading
import time


class CapturedStep(CapturedStep):
    def __call__(self, *inputs):
        for _ in range(500):
            try:
                threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
            except RuntimeError:
                break
        return super().__call__(*inputs)
