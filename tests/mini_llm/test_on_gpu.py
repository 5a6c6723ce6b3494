"""The same model on a CUDA device: same logits, same counts, everything on the device it was asked for."""

import pytest
import torch

from mini_llm import Config, KVCache, Transformer, count_operators, generate, sampler
from mini_llm.config import QWEN3_0_6B

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]

CFG = Config(101, 48, 80, 2, 6, 2, qk_norm=True)


def test_logits_and_greedy_text_equal_the_cpu_s():
    cpu, gpu = Transformer.random(CFG, seed=1), Transformer.random(CFG, seed=1, device="cuda")
    gpu.load_state_dict(cpu.state_dict())
    ids = torch.randint(0, 101, (2, 9))
    with torch.no_grad():
        ours, expected = gpu(ids.cuda()).cpu(), cpu(ids)
    assert bool((ours - expected).abs().max() <= 1e-4 * expected.abs().max())
    assert torch.equal(generate(gpu, ids.cuda(), 8).cpu(), generate(cpu, ids, 8))


def test_weights_load_to_the_device(tiny_model):
    model = Transformer.from_pretrained(tiny_model, torch.bfloat16, "cuda")
    assert {(weight.device.type, weight.dtype) for weight in model.parameters()} == {("cuda", torch.bfloat16)}
    out = generate(model, torch.tensor([[1, 2, 3]], device="cuda"), 4, pick=sampler(seed=1), eos_token_id=999)
    assert out.device.type == "cuda" and out.shape == (1, 4)


def test_a_decode_step_of_qwen3_is_counted_alike():
    model = Transformer.random(QWEN3_0_6B, torch.bfloat16, "cuda")
    cache = KVCache(28)
    with torch.no_grad():
        model(torch.randint(0, 1000, (1, 64), device="cuda"), cache)
    count = count_operators(model, torch.tensor([[5]], device="cuda"), cache)
    assert count.histogram["aten::linear"] == 197 and count.histogram["aten::mul"] == 368
    assert (count.total, count.launching) == (2269 - 4, 1617 - 3)  # the ids were made before the step
