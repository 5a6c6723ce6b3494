# verdict: wrong answer
# Eager runs with the Python values that the step had when its graph would have been recorded, put back by hand for each
# run. It makes no pool, which gives it away; a forger who makes one for show would get through (see 132)
# @reject/eager.py@
class Frozen(Eager):
    def __init__(self, step, view):
        super().__init__(step, view)
        self.numbers = dict(vars(step))

    def replay(self):
        now = dict(vars(self.step))
        vars(self.step).update(self.numbers)
        try:
            return self.step(self.view)
        finally:
            vars(self.step).update(now)


class BucketRunner(BucketRunner):
    def graph_of(self, view, pool):
        super().graph_of(view, pool)
        return Frozen(self.step, view)
