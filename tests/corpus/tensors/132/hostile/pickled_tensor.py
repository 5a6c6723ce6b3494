# verdict: crashed
# torch.save and torch.load of an object that ends the process when it is loaded
# @reject/eager.py@
import os


class Ends:
    def __reduce__(self):
        return os._exit, (0,)


class CapturedStep(CapturedStep):
    def __call__(self, *inputs):
        torch.save([super().__call__(*inputs), Ends()], "saved.pt")
        return torch.load("saved.pt", weights_only=False)
