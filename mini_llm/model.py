"""The decoder as a whole: token ids in, logits out."""

import torch
from torch import nn

from .config import Config
from .layers import DecoderLayer, RMSNorm, rope_cos_sin


class Transformer(nn.Module):
    """A Llama-, Qwen2- or Qwen3-type decoder. Module names are those of the checkpoints."""

    def __init__(self, cfg: Config):
        super().__init__()
        self.cfg = cfg
        self.embed_tokens = nn.Embedding(cfg.vocab_size, cfg.hidden_size)
        self.layers = nn.ModuleList(DecoderLayer(cfg, i) for i in range(cfg.num_hidden_layers))
        self.norm = RMSNorm(cfg.hidden_size, cfg.rms_norm_eps)
        self.lm_head = nn.Linear(cfg.hidden_size, cfg.vocab_size, bias=False)
        self.tie_weights()

    def tie_weights(self) -> None:
        """Let the output layer share the embedding, where the config says so."""
        if self.cfg.tie_word_embeddings:
            self.lm_head.weight = self.embed_tokens.weight

    def forward(self, input_ids, cache=None):
        """Logits [B, T, vocab], in fp32, of `input_ids` [B, T], which follow what `cache` already holds."""
        start = cache.length if cache is not None else 0
        positions = torch.arange(start, start + input_ids.shape[1], device=input_ids.device)
        cos, sin = rope_cos_sin(positions, self.cfg.hd, self.cfg.rope_theta)
        x = self.embed_tokens(input_ids)
        for layer in self.layers:
            x = layer(x, cos, sin, cache)
        return self.lm_head(self.norm(x)).float()

    @classmethod
    def from_pretrained(cls, path_or_name, dtype=torch.float32, device="cpu") -> "Transformer":
        """Load a checkpoint folder (config.json and *.safetensors, sharded or not).

        A name such as 'smollm2' or 'Qwen/Qwen3-0.6B' is looked up in models/, in the current folder and
        in the Hugging Face cache. Weights are cast to `dtype`. Raises FileNotFoundError, which says how
        to get the model, and ValueError for a checkpoint that does not fit.
        """
        from .checkpoints import find_model
        from .weights import load_weights

        folder = find_model(path_or_name)
        with torch.device("meta"):  # no memory, and no time spent on random numbers that are overwritten
            model = cls(Config.from_json(folder))
        load_weights(model, folder, dtype, device)
        return model

    @classmethod
    def random(cls, cfg: Config, dtype=torch.float32, device="cpu", seed: int = 0) -> "Transformer":
        """A model of this shape with small random weights: right for counting and timing, wrong for text."""
        with torch.device("meta"):
            model = cls(cfg).to(dtype)
        model.to_empty(device=device)
        model.tie_weights()
        # Drawing 600 million numbers takes a CPU 8 s. A pool of a million, shifted for every weight, does.
        pool = torch.empty(1_000_003, dtype=dtype, device=device)
        pool.uniform_(-0.03, 0.03, generator=torch.Generator(device).manual_seed(seed))
        for name, weight in model.named_parameters():
            if "norm" in name:
                weight.data.fill_(1)
                continue
            pool = pool.roll(10_007)
            for part in weight.data.view(-1).split(len(pool)):
                part.copy_(pool[: len(part)])
        return model.requires_grad_(False)
