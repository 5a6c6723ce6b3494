# verdict: wrong answer
# diagnosis: capture_order made new keys from the sizes: hand out the keys themselves, with num_reqs, uniform and has_lora
_Right = CudagraphDispatcher


class CudagraphDispatcher(_Right):
    def capture_order(self):
        return [(mode, BatchDescriptor(key.num_tokens)) for mode, key in super().capture_order()]
