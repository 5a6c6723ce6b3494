"""How many pools of graphs somebody made: functions for the `scene.py` of several problems.

It lies beside the scene on the stage, so that `from pools import new_pools, pools_so_far` works there. Each gets the
learner's module first, as all of a scene's functions do.
"""

from __future__ import annotations

import gc
import weakref

from mini_llm.graphs import CudaPool
from mini_llm.tape import TapePool


def pools_so_far(solution):
    return weakref.WeakSet(_pools())


def new_pools(solution, before):
    """How many memory pools of graphs are there now that were not there then."""
    return sum(pool not in before for pool in _pools())


def _pools():
    gc.collect()
    return [thing for thing in gc.get_objects() if type(thing) in (CudaPool, TapePool)]
