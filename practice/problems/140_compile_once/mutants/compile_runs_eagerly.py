# verdict: wrong answer
# diagnosis: nothing that the given backend made was used: the step ran as it is, or was compiled by another backend
def compile_once(step, backend="inductor", compile_sizes=()):
    return step
