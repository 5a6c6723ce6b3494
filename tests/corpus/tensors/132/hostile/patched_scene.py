# verdict: wrong answer
# the scene's functions that change numbers do nothing: asked itself, the step shows that it did not change
# @reject/eager.py@
import sys

scene = sys.modules["scene"]
scene.change = lambda *args, **kwargs: None
scene.put_another_total = lambda *args, **kwargs: None
scene.fill = lambda *args, **kwargs: None
