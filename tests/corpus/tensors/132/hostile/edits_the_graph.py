# verdict: wrong answer
# a Graph whose replay calls the step
# @accept/plain.py@
from mini_llm.graphs import Graph


def record(fn, *inputs, pool):
    graph = Graph(inputs, None, pool, lambda: None, fn)
    graph.replay = lambda: fn(*inputs)
    pool.lend(64) if hasattr(pool, "lend") else None
    return graph
