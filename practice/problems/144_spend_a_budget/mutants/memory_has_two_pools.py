# verdict: wrong answer
# diagnosis: graphs of pieces and full graphs were given a pool each; they share one
def plan_memory(plan, machine):
    full, piecewise = plan["full"], plan["piecewise"]
    graphs = len(full) * machine["full_mib"] + len(piecewise) * machine["piecewise_mib"]
    pool = (max([0, *full]) + max([0, *piecewise])) * machine["row_mib"]
    return graphs + pool + plan["blocks"] * machine["block_mib"]
