"""The numbers that define a model, read from a checkpoint's config.json."""

import json
from dataclasses import dataclass
from pathlib import Path

MODEL_TYPES = ("llama", "qwen2", "qwen3")


@dataclass
class Config:
    """Shape and constants of a Llama-, Qwen2- or Qwen3-type decoder.

    Field names are those of Hugging Face's config.json. `attention_bias` means a bias on q, k and v and
    none on o; `head_dim=None` means hidden_size / num_attention_heads.
    """

    vocab_size: int
    hidden_size: int
    intermediate_size: int
    num_hidden_layers: int
    num_attention_heads: int
    num_key_value_heads: int
    rms_norm_eps: float = 1e-6
    rope_theta: float = 1e4
    attention_bias: bool = False
    qk_norm: bool = False
    tie_word_embeddings: bool = False
    head_dim: int | None = None

    def __post_init__(self):
        if self.num_attention_heads % self.num_key_value_heads:
            raise ValueError(
                f"num_attention_heads={self.num_attention_heads} is no multiple of "
                f"num_key_value_heads={self.num_key_value_heads}"
            )

    @property
    def hd(self) -> int:
        """Size of one attention head."""
        return self.head_dim or self.hidden_size // self.num_attention_heads

    def num_parameters(self) -> int:
        """Weights of the whole model, a tied output layer counted once."""
        q, kv = self.num_attention_heads * self.hd, self.num_key_value_heads * self.hd
        attention = self.hidden_size * (q + 2 * kv) + q * self.hidden_size
        attention += (q + 2 * kv) * self.attention_bias + 2 * self.hd * self.qk_norm
        layer = attention + 3 * self.hidden_size * self.intermediate_size + 2 * self.hidden_size
        embeddings = self.vocab_size * self.hidden_size * (1 if self.tie_word_embeddings else 2)
        return embeddings + self.num_hidden_layers * layer + self.hidden_size

    def kv_numbers_per_token(self) -> int:
        """Numbers that the cache keeps for one token of one prompt: keys and values of all layers."""
        return 2 * self.num_hidden_layers * self.num_key_value_heads * self.hd

    @classmethod
    def from_json(cls, path) -> "Config":
        """Read `path`, a config.json or the folder that holds one.

        Raises ValueError that names whatever the checkpoint needs and this engine does not have.
        """
        path = Path(path)
        if path.is_dir():
            path = path / "config.json"
        raw = json.loads(path.read_text(encoding="utf-8"))
        try:
            _refuse_what_is_not_implemented(raw)
            names = "vocab_size hidden_size intermediate_size num_hidden_layers num_attention_heads".split()
            return cls(
                **{name: raw[name] for name in names},
                num_key_value_heads=raw.get("num_key_value_heads") or raw["num_attention_heads"],
                rms_norm_eps=raw.get("rms_norm_eps", 1e-6),
                rope_theta=_rope(raw).get("rope_theta") or raw.get("rope_theta") or 1e4,
                attention_bias=raw["model_type"] == "qwen2",
                qk_norm=raw["model_type"] == "qwen3",
                tie_word_embeddings=raw.get("tie_word_embeddings", False),
                head_dim=raw.get("head_dim"),
            )
        except KeyError as missing:
            raise ValueError(f"{path} has no {missing}") from None
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None


# Qwen/Qwen3-0.6B: the shape that the course counts and measures, weights or not.
QWEN3_0_6B = Config(
    vocab_size=151936,
    hidden_size=1024,
    intermediate_size=3072,
    num_hidden_layers=28,
    num_attention_heads=16,
    num_key_value_heads=8,
    rope_theta=1e6,
    qk_norm=True,
    tie_word_embeddings=True,
    head_dim=128,
)


def _rope(raw: dict) -> dict:
    """The rotary settings: `rope_parameters` since transformers 5, `rope_scaling` before."""
    return raw.get("rope_parameters") or raw.get("rope_scaling") or {}


def _refuse_what_is_not_implemented(raw: dict) -> None:
    """A checkpoint that would load and then answer nonsense is worse than one that does not load."""
    model_type = raw.get("model_type")
    if model_type not in MODEL_TYPES:
        raise ValueError(f"model_type {model_type!r} is not implemented, only {', '.join(MODEL_TYPES)}")

    rope = _rope(raw)
    rope_type = rope.get("rope_type") or rope.get("type") or "default"
    if any(isinstance(value, dict) for value in rope.values()):
        raise ValueError("rope_parameters per layer type are not implemented, only one set for all layers")
    if rope_type != "default":
        raise ValueError(f"rope type {rope_type!r} is not implemented, only 'default'")

    partial = rope.get("partial_rotary_factor") or raw.get("partial_rotary_factor") or 1
    # transformers ignores the window of a Qwen config unless use_sliding_window turns it on
    window = raw.get("sliding_window") is not None and raw.get("use_sliding_window", model_type == "llama")
    activation = raw.get("hidden_act", "silu")
    # attention_bias puts a bias on the output projection too, which no layer here has;
    # qwen2 has its q/k/v bias by definition and does not use the key
    refused = {
        f"partial_rotary_factor {partial}": partial != 1,
        f"hidden_act {activation!r}": activation != "silu",
        "attention_bias (with a bias on o_proj)": raw.get("attention_bias") and model_type != "qwen2",
        "mlp_bias": raw.get("mlp_bias"),
        "sliding_window attention": window or raw.get("use_sliding_window"),
        "quantization_config": raw.get("quantization_config"),
    }
    refused |= {f"layer type {kind!r}": kind != "full_attention" for kind in raw.get("layer_types") or ()}
    for what, needed in refused.items():
        if needed:
            raise ValueError(f"{what} is not implemented")
