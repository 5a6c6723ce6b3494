"""The forward pass of a flat batch: the modules of Transformer, called for N tokens of any requests at once.

No batch dimension, no cache argument: rows are tokens, positions come as a tensor, and attention is one
call per layer. A step is thereby a function of tensors at fixed addresses. Eager runs, graphs and compiled
pieces all run this one.
"""

from collections.abc import Callable

import torch
from torch.utils._pytree import tree_leaves

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


EXAMPLE = 1009  # tokens to trace with: a number that no model has anywhere, so that it would show in the trace


@torch.no_grad()
def trace_step(model) -> "torch.fx.GraphModule":
    """`hidden_states` of `model` as one graph of operators, for any number of tokens above 1.

    Placeholders are called input_ids and positions, like the fields of StepInputs, and weights by their names
    in the model. Raises RuntimeError for a step that makes a constant of the number of tokens.
    """
    from torch.fx.experimental.proxy_tensor import make_fx

    def step(input_ids, positions):
        return hidden_states(model, input_ids, positions, torch.ops.mini_llm.attention.default)

    device = model.embed_tokens.weight.device
    # two tensors: if it were one, the tracer could not tell which of the two the step reads
    examples = [torch.zeros(EXAMPLE, dtype=torch.long, device=device) for _ in range(2)]
    # "fake": shapes alone. A symbol for the tokens would take three times as long, and no operator here asks for one.
    # Weights are real tensors, which such a trace would refuse.
    graph_module = make_fx(step, tracing_mode="fake", _allow_non_fake_inputs=True)(*examples)
    if any(EXAMPLE in tree_leaves((node.args, node.kwargs)) for node in graph_module.graph.nodes):
        raise RuntimeError("the step asks how many tokens there are, and its trace would be for one number only")
    names = {id(weight): name.replace(".", "_") for name, weight in model.named_parameters()}
    inputs = iter(("input_ids", "positions"))
    for node in graph_module.graph.nodes:
        if node.op == "placeholder":
            node._rename(next(inputs))
        elif node.op == "get_attr":
            node._rename(names.get(id(getattr(graph_module, node.target)), node.name))
    graph_module.recompile()
    return graph_module
