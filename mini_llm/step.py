"""The forward pass of a flat batch: the modules of Transformer, called for N tokens of any requests at once.

No batch dimension, no cache argument: rows are tokens, positions come as a tensor, and attention is one
call per layer. A step is thereby a function of tensors at fixed addresses. Eager runs, graphs and compiled
pieces all run this one.
"""

from collections.abc import Callable

from mini_llm.attention import attend
from mini_llm.layers import apply_rope, rope_cos_sin


def hidden_states(model, input_ids, positions, attention: Callable = attend):
    """input_ids [N] and positions [N] -> [N, hidden], normed, ready for `logits`.

    Runs inside a `forward_context`. `attention(q, k, v, layer)` is `attend`, or the operator
    `mini_llm::attention` where the step is traced and then split at it.
    """
    cos, sin = rope_cos_sin(positions, model.cfg.hd, model.cfg.rope_theta)
    cos, sin = cos[:, None], sin[:, None]  # the same for all heads
    x = model.embed_tokens(input_ids)
    for layer in model.layers:
        x = x + _attention(layer.self_attn, layer.input_layernorm(x), cos, sin, attention)
        x = x + layer.mlp(layer.post_attention_layernorm(x))
    return model.norm(x)


def logits(model, hidden):
    """Hidden states [M, hidden] -> logits [M, vocab] in fp32."""
    return model.lm_head(hidden).float()


def _attention(attn, x, cos, sin, attention: Callable):
    q = attn.q_norm(attn.q_proj(x).view(-1, attn.nh, attn.hd))
    k = attn.k_norm(attn.k_proj(x).view(-1, attn.nkv, attn.hd))
    v = attn.v_proj(x).view(-1, attn.nkv, attn.hd)
    out = attention(apply_rope(q, cos, sin), apply_rope(k, cos, sin), v, attn.layer)
    return attn.o_proj(out.reshape(-1, attn.nh * attn.hd))  # flatten would ask for the number of rows
