# verdict: error|wrong answer
# the scene is gone
# @reject/eager.py@
import sys

vars(sys.modules["scene"]).clear()
del sys.modules["scene"]
