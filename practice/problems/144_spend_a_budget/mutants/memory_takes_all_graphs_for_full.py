# verdict: wrong answer
# diagnosis: graphs of pieces take piecewise_mib each, not full_mib
def plan_memory(plan, machine):
    full, piecewise = plan["full"], plan["piecewise"]
    graphs = len(full) * machine["full_mib"] + len(piecewise) * machine["full_mib"]
    pool = max([0, *full, *piecewise]) * machine["row_mib"]
    return graphs + pool + plan["blocks"] * machine["block_mib"]
