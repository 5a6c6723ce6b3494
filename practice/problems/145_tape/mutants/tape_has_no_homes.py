# verdict: wrong answer
# diagnosis: results were left where the operator put them, without a home: a replay computes into other memory
_right = Tape


class Tape(_right):
    def note(self, func, args, kwargs, written):
        for tensor in written:
            self._remember(tensor)
        fixed_args, fixed_kwargs = tree_map_only(torch.Tensor, self.pool.fixed, (args, kwargs))
        result = func(*args, **kwargs)
        self.calls.append(Call(func, fixed_args, fixed_kwargs, tuple(None for _ in tree_leaves(result))))
        return result
