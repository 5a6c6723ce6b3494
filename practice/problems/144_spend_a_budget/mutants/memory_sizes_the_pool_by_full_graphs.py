# verdict: wrong answer
# diagnosis: the pool was sized by the full graphs alone; a graph of pieces may be the largest
def plan_memory(plan, machine):
    full, piecewise = plan["full"], plan["piecewise"]
    graphs = len(full) * machine["full_mib"] + len(piecewise) * machine["piecewise_mib"]
    pool = max([0, *full]) * machine["row_mib"]
    return graphs + pool + plan["blocks"] * machine["block_mib"]
