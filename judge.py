"""The judge, from the top folder: `python judge.py 133` is `python practice/judge.py 133`."""

import runpy
import sys
from pathlib import Path

sys.argv[0] = str(Path(__file__).resolve().parent / "practice" / "judge.py")
runpy.run_path(sys.argv[0], run_name="__main__")
