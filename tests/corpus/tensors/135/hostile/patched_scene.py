# verdict: wrong answer
# the step's number never changes: an eager run has to show that it did
# @reject/eager.py@
import sys

sys.modules["scene"].change_factor = lambda *args, **kwargs: None
