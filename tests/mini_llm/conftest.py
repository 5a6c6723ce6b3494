"""A model of a few kilobytes with a real tokenizer, for everything that reads a model's folder."""

import json

import pytest

CHAT_TEMPLATE = (
    "{%- for message in messages %}"
    "{%- if message.role == 'system' %}{% continue %}{% endif %}"
    "{{ bos_token + message.role + ':' + message.content + eos_token + '\\n' }}"
    "{%- endfor %}"
    "{%- if add_generation_prompt %}{{ bos_token }}assistant:{% endif %}"
)


def write_tiny_model(folder):
    """A random Llama with a byte-level tokenizer: 256 bytes, then <s> = 256 and </s> = 257."""
    from safetensors.torch import save_file
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    from mini_llm import Config, Transformer

    cfg = Config(258, 32, 48, 2, 4, 2)
    model = Transformer.random(cfg, seed=3)
    for weight in model.parameters():
        if weight.ndim == 2:
            weight.data.mul_(20)
    folder.mkdir(parents=True, exist_ok=True)
    weights = {f"model.{name}": weight for name, weight in model.state_dict().items()}
    weights["lm_head.weight"] = weights.pop("model.lm_head.weight")
    save_file(weights, folder / "model.safetensors")
    numbers = {name: value for name, value in vars(cfg).items() if value is not None and name != "qk_norm"}
    config = numbers | {"model_type": "llama", "eos_token_id": 1}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "generation_config.json").write_text(json.dumps({"eos_token_id": [257, 256]}))

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE({token: i for i, token in enumerate(alphabet)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken("<s>", special=True), AddedToken("</s>", special=True)])
    tokenizer.save(str(folder / "tokenizer.json"))
    eos_token = {"__type": "AddedToken", "content": "</s>", "special": True}  # the longer of the two forms
    settings = {"bos_token": "<s>", "eos_token": eos_token, "chat_template": CHAT_TEMPLATE}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return folder


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory):
    return write_tiny_model(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture
def models(tmp_path, monkeypatch):
    """An empty models/ of one's own: nothing is read from or written to the course's."""
    home = tmp_path / "models"
    monkeypatch.setenv("MINI_LLM_MODELS", str(home))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.delenv("MINI_LLM_COURSE", raising=False)
    monkeypatch.chdir(tmp_path)
    return home
