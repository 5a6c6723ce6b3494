# verdict: wrong answer|error
# takes the reference from the course's folder, or what the stage has in its place
# @reject/eager.py@
import glob

_CODE = ""
for _place in ("@COURSE@/mini_llm/graphs.py", *glob.glob("/**/mini_llm/graphs.py", recursive=False)):
    try:
        _CODE = open(_place).read()
    except OSError:
        pass
if "grown in chapter" in _CODE:
    _CODE = ""
if _CODE:
    exec(_CODE)
