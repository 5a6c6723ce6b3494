# verdict: error
# diagnosis: a plan without any graph is a plan too: its pool is 0
def plan_memory(plan, machine):
    full, piecewise = plan["full"], plan["piecewise"]
    graphs = len(full) * machine["full_mib"] + len(piecewise) * machine["piecewise_mib"]
    pool = max([*full, *piecewise]) * machine["row_mib"]
    return graphs + pool + plan["blocks"] * machine["block_mib"]
