"""The final rung: a whole decode step, from token ids to logits, in as few kernels as pay.

Up to `fused_rows` requests a layer is five kernels: qkv product, attention, o product, gate-up product, down
product. Everything else happens inside of these (see `products` and `decode_attention`). Larger batches give
the products to cuBLAS, which then wins more than fusion does, with one kernel between any two.

The step reads weights, cache and StepInputs, whose tensors may lie in fixed buffers, and allocates nothing:
it can be captured as it is, for one batch size after another.
"""

from dataclasses import dataclass

import torch

from mini_llm.kernels.decode_attention import Scratch, decode_attention, rope_table
from mini_llm.kernels.elementwise import add_rms_norm, silu_mul
from mini_llm.kernels.launch import has_dependent_launch
from mini_llm.kernels.products import product
from mini_llm.kernels.tunings import FUSED_ROWS, attention_for, tiling_for
from mini_llm.weights import side_by_side


@dataclass
class LayerWeights:
    """One layer, with the weights that are multiplied with the same x in one matrix."""

    input_gain: torch.Tensor
    qkv: torch.Tensor  # [(nh + 2 * nkv) * hd, hidden]
    qkv_bias: torch.Tensor | None
    q_gain: torch.Tensor | None
    k_gain: torch.Tensor | None
    o: torch.Tensor  # [hidden, nh * hd]
    mlp_gain: torch.Tensor
    gate_up: torch.Tensor  # [2 * inter, hidden], the gates first
    down: torch.Tensor  # [hidden, inter]

    @classmethod
    def of(cls, layer) -> "LayerWeights":
        """What a DecoderLayer holds: the same memory, put together where it lies apart."""
        attn, mlp = layer.self_attn, layer.mlp
        qkv = (attn.q_proj, attn.k_proj, attn.v_proj)
        return cls(
            input_gain=layer.input_layernorm.weight.data,
            qkv=side_by_side([part.weight for part in qkv]),
            qkv_bias=side_by_side([part.bias for part in qkv]) if attn.q_proj.bias is not None else None,
            q_gain=getattr(getattr(attn.q_norm, "weight", None), "data", None),
            k_gain=getattr(getattr(attn.k_norm, "weight", None), "data", None),
            o=attn.o_proj.weight.data,
            mlp_gain=layer.post_attention_layernorm.weight.data,
            gate_up=side_by_side([mlp.gate_proj.weight, mlp.up_proj.weight]),
            down=mlp.down_proj.weight.data,
        )


class FinalStep:
    """`step(inputs)` is one decode step of `model` over the paged cache `kv`: one new token per request.

    `inputs`: StepInputs of a uniform batch with one token each, at most `max_batch`; padding as described
    there. Returns fp32 logits [N, vocab], a row per request, in a buffer that the next step overwrites. The
    logits of rows of padding are finite and mean nothing. Weights of `model` that are multiplied with the same x are
    put side by side, once for all (`weights.side_by_side`). `.kv` may be replaced by another cache of the same
    shape per block.

    Positions stay below `max_positions`; by default all that the cache could hold. `pdl`: start kernels
    while the one before still runs, see `launch.inputs_ready`; by default where the GPU can.
    """

    def __init__(self, model, kv, max_batch: int = 256, max_positions: int | None = None, pdl: bool | None = None):
        cfg = self.cfg = model.cfg
        weight = model.embed_tokens.weight
        device = weight.device
        self.kv, self.max_batch = kv, max_batch
        self.fused_rows, self.tiling_for, self.attention_for = FUSED_ROWS, tiling_for, attention_for
        self.pdl = has_dependent_launch(device) if pdl is None else pdl
        self.embedding, self.head, self.gain = weight.data, model.lm_head.weight.data, model.norm.weight.data
        self.layers = [LayerWeights.of(layer) for layer in model.layers]
        self.rope = rope_table(max_positions or kv.num_blocks * kv.block_size, cfg.hd, cfg.rope_theta, device)
        self.scratch = Scratch(max_batch, cfg.num_attention_heads, cfg.hd, device)

        def buffer(width, dtype=weight.dtype):
            return torch.empty(max_batch, width, dtype=dtype, device=device)

        self.x, self.normed, self.delta = (buffer(cfg.hidden_size) for _ in range(3))
        self.qkv = buffer(self.layers[0].qkv.shape[0])
        self.attended = buffer(cfg.num_attention_heads * cfg.hd)
        self.gate_up, self.activated = buffer(2 * cfg.intermediate_size), buffer(cfg.intermediate_size)
        self.logits = buffer(cfg.vocab_size, torch.float32)

    @torch.no_grad()
    def __call__(self, inputs):
        N = len(inputs.input_ids)
        if N > self.max_batch:
            raise ValueError(f"this step was made for at most {self.max_batch} requests, not {N}")
        # Not launched early: whatever wrote the inputs and the cache has ended when this starts.
        torch.index_select(self.embedding, 0, inputs.input_ids, out=self.x[:N])
        return self._few(inputs, N) if N <= self.fused_rows else self._many(inputs, N)

    def _few(self, inputs, N):
        """Everything inside five kernels a layer."""
        x, qkv, attended, activated = (each[:N] for each in (self.x, self.qkv, self.attended, self.activated))
        eps = self.cfg.rms_norm_eps
        for i, layer in enumerate(self.layers):
            self._product(x, layer.qkv, qkv, gain=layer.input_gain, eps=eps, bias=layer.qkv_bias)
            self._attend(i, layer, inputs, N, self.pdl)
            self._product(attended, layer.o, x, residual=x)
            self._product(x, layer.gate_up, activated, gain=layer.mlp_gain, eps=eps, gated=True)
            self._product(activated, layer.down, x, residual=x)
        return self._product(x, self.head, self.logits[:N], gain=self.gain, eps=eps)

    def _many(self, inputs, N):
        """Products by cuBLAS; each norm takes in the residual addition before it. Early launch gains nothing here."""
        x, normed, delta, qkv, attended, gate_up, activated = (
            each[:N]
            for each in (self.x, self.normed, self.delta, self.qkv, self.attended, self.gate_up, self.activated)
        )
        eps = self.cfg.rms_norm_eps
        pending = None  # what is still to be added to x
        for i, layer in enumerate(self.layers):
            add_rms_norm(x, pending, layer.input_gain, eps, normed)
            _matmul(normed, layer.qkv, qkv, layer.qkv_bias)
            self._attend(i, layer, inputs, N, pdl=False)
            _matmul(attended, layer.o, delta)
            add_rms_norm(x, delta, layer.mlp_gain, eps, normed)
            _matmul(normed, layer.gate_up, gate_up)
            silu_mul(gate_up, activated)
            pending = _matmul(activated, layer.down, delta)
        add_rms_norm(x, pending, self.gain, eps, normed)
        return _matmul(normed, self.head, self.logits[:N])

    def _attend(self, i, layer, inputs, N, pdl):
        kv_heads = N * self.cfg.num_key_value_heads
        decode_attention(
            self.qkv[:N], self.kv, i, layer.q_gain, layer.k_gain, self.cfg.rms_norm_eps, self.rope, inputs,
            self.attended[:N], self.scratch, pdl=pdl, **self.attention_for(kv_heads),
        )  # fmt: skip

    def _product(self, x, weight, out, **around):
        tiling = self.tiling_for(len(x), out.shape[1], x.shape[1])
        return product(x, weight, out, tiling=tiling, pdl=self.pdl, **around)


def _matmul(x, weight, out, bias=None):
    """x @ weight.T + bias into `out`, of x's dtype or fp32."""
    if out.dtype == x.dtype:
        torch.mm(x, weight.T, out=out)
        return out if bias is None else out.add_(bias)
    if x.is_cuda:
        return torch.mm(x, weight.T, out_dtype=out.dtype, out=out)
    return out.copy_(x @ weight.T)
