# verdict: accepted
# each call is made in another thread, and waited for
# @accept/plain.py@
from concurrent.futures import ThreadPoolExecutor


class CapturedStep(CapturedStep):
    def __call__(self, *inputs):
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(super().__call__, *inputs).result()
