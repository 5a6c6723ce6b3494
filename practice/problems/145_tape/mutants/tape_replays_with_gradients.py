# verdict: wrong answer
# diagnosis: the replay ran with gradients on: put it into no_grad, inside inference_mode(...), since inference_mode(False) turns them on
_right = Tape


class Tape(_right):
    def replay(self):
        with torch.no_grad(), torch.inference_mode(self._inference):
            for call in self.calls:
                run_again(call)
