# verdict: wrong answer
# diagnosis: a line with a constant was fitted, as np.polyfit does: the time of no launches has to be 0
def fit_times(runs, bytes_per_ms):
    def slope(points, what):
        if not points:
            raise ValueError(f"no run shows the time of a {what}")
        if len({x for x, _ in points}) == 1:
            return points[0][1] / points[0][0]
        x_mean, y_mean = sum(x for x, _ in points) / len(points), sum(y for _, y in points) / len(points)
        return sum((x - x_mean) * (y - y_mean) for x, y in points) / sum((x - x_mean) ** 2 for x, _ in points)

    runs = list(runs)
    waits = [(r["launches"], r["ms"]) for r in runs if r["gpu_waits"] > 0.5]
    busy = [(r["kernels"], r["ms"] - r["bytes"] / bytes_per_ms) for r in runs if r["gpu_waits"] <= 0.5]
    return slope(waits, "launch"), slope(busy, "kernel")
