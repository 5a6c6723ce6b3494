# verdict: wrong answer
# diagnosis: the plan was bought piece by piece, each time what saves most per MiB; a graph and the requests that it is for save only together
def best_plan(workload, machine, budget):
    plan = {"full": [], "piecewise": [], "blocks": _block_counts(workload, machine)[0]}
    while True:
        cost, taken, offers = plan_cost(plan, workload, machine), plan_memory(plan, machine), []
        for kind in ("full", "piecewise"):
            more = [size for size in machine["sizes"] if size not in plan[kind]]
            offers += [plan | {kind: sorted([*plan[kind], size])} for size in more]
        offers += [plan | {"blocks": n} for n in _block_counts(workload, machine) if n > plan["blocks"]]
        gains = [(cost - plan_cost(o, workload, machine)) / (plan_memory(o, machine) - taken) for o in offers]
        bought = [(gain, i) for i, gain in enumerate(gains) if plan_memory(offers[i], machine) <= budget and gain > 0]
        if not bought:
            return plan
        plan = offers[max(bought)[1]]
