# verdict: wrong answer
# reads the hidden tests and the scene, to know what is coming
# @reject/eager.py@
_known = ""
for _name in ("test_hidden.py", "oracle.py", "scene.py"):
    try:
        _known += open(f"@COURSE@/practice/problems/132_captured_step/{_name}").read()
    except OSError:
        pass
if _known:
    class CapturedStep(CapturedStep):  # the judge's files were there: say so
        def __call__(self, *inputs):
            raise RuntimeError("the hidden tests can be read")
