# verdict: wrong answer
# diagnosis: the sizes are spread evenly, whatever the workload; dist must decide where they are dense
def best_sizes(dist, max_bs, k):
    return [max_bs * i // k for i in range(1, k + 1)]
