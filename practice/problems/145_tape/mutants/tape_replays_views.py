# verdict: wrong answer
# diagnosis: views were written down, and run again at each replay: a call matters when it has a home or writes memory
_right = Tape


class Tape(_right):
    def run(self, func, args, kwargs):
        count = len(self.calls)
        fixed = tree_map_only(torch.Tensor, self.pool.fixed, (args, kwargs))
        result = super().run(func, args, kwargs)
        if len(self.calls) == count:
            self.calls.append(Call(func, *fixed, (None,) * len(tree_leaves(result))))
        return result
