"""config.json as each model type writes it, and refusals that name what is missing."""

import json

import pytest

from mini_llm import Config
from mini_llm.config import QWEN3_0_6B

PLAIN = {
    "model_type": "llama",
    "vocab_size": 97,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
}


def read(tmp_path, **changes):
    file = tmp_path / "config.json"
    file.write_text(json.dumps(PLAIN | changes), encoding="utf-8")
    return Config.from_json(file)


def test_defaults(tmp_path):
    cfg = read(tmp_path)
    assert cfg == Config(97, 32, 48, 2, 4, 4)
    assert (cfg.hd, cfg.rope_theta, cfg.rms_norm_eps) == (8, 1e4, 1e-6)
    assert Config.from_json(tmp_path) == cfg, "the folder does as well as the file"


@pytest.mark.parametrize(
    "model_type, bias, qk_norm", [("llama", False, False), ("qwen2", True, False), ("qwen3", False, True)]
)
def test_the_model_type_decides_bias_and_qk_norm(tmp_path, model_type, bias, qk_norm):
    cfg = read(tmp_path, model_type=model_type)
    assert (cfg.attention_bias, cfg.qk_norm) == (bias, qk_norm)


@pytest.mark.parametrize(
    "rope",
    [
        {"rope_theta": 5e5},
        {"rope_theta": 5e5, "rope_scaling": None},
        {"rope_theta": 5e5, "rope_scaling": {"rope_type": "default"}},
        {"rope_parameters": {"rope_theta": 5e5, "rope_type": "default"}},
    ],
)
def test_rope_old_style_and_new(tmp_path, rope):
    assert read(tmp_path, **rope).rope_theta == 5e5


@pytest.mark.parametrize(
    "changes, named",
    [
        ({"model_type": "mistral"}, "mistral"),
        ({"rope_parameters": {"rope_type": "llama3", "factor": 8.0}}, "'llama3'"),
        ({"rope_scaling": {"type": "linear", "factor": 2.0}}, "'linear'"),
        ({"rope_parameters": {"full_attention": {"rope_type": "default"}}}, "per layer type"),
        ({"partial_rotary_factor": 0.5}, "partial_rotary_factor"),
        ({"attention_bias": True}, "attention_bias"),
        ({"model_type": "qwen3", "attention_bias": True}, "attention_bias"),
        ({"mlp_bias": True}, "mlp_bias"),
        ({"hidden_act": "gelu"}, "gelu"),
        ({"sliding_window": 128}, "sliding_window"),
        ({"model_type": "qwen2", "use_sliding_window": True, "sliding_window": 128}, "sliding_window"),
        ({"layer_types": ["full_attention", "sliding_attention"]}, "sliding_attention"),
        ({"quantization_config": {"quant_method": "gptq"}}, "quantization_config"),
        ({"num_key_value_heads": 3}, "num_key_value_heads=3"),
    ],
)
def test_what_is_not_implemented_is_refused_by_name(tmp_path, changes, named):
    with pytest.raises(ValueError, match=named) as refusal:
        read(tmp_path, **changes)
    assert "config.json" in str(refusal.value)


def test_settings_that_change_nothing_are_accepted(tmp_path):
    # Qwen configs carry a window that is switched off
    read(tmp_path, model_type="qwen2", sliding_window=4096, use_sliding_window=False, attention_bias=True)
    read(tmp_path, model_type="qwen2", sliding_window=4096)
    read(tmp_path, layer_types=["full_attention"] * 2, sliding_window=None, mlp_bias=False)


def test_a_missing_number_is_named(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "llama", "vocab_size": 5}))
    with pytest.raises(ValueError, match="hidden_size"):
        Config.from_json(tmp_path)


def test_number_of_parameters():
    assert QWEN3_0_6B.num_parameters() == 596_049_920
    assert QWEN3_0_6B.kv_numbers_per_token() == 2 * 28 * 8 * 128
