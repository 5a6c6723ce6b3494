"""Read a checkpoint's *.safetensors into a model."""

import json
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open


def load_weights(model, folder, dtype: torch.dtype, device="cpu") -> None:
    """Give `model`, built on the meta device, the weights in `folder`, as `dtype` on `device`.

    Every weight must be there, with the model's shape, and none may be left over: otherwise ValueError.
    """
    wanted = {name: weight.shape for name, weight in model.named_parameters()}
    tied = model.cfg.tie_word_embeddings
    loaded, unknown = {}, []
    for file in weight_files(folder):
        try:
            with safe_open(file, framework="pt", device="cpu") as tensors:
                for key in tensors.keys():
                    name = key.removeprefix("model.")
                    if name in wanted:
                        loaded[name] = tensors.get_tensor(key).to(device, dtype)
                    # some checkpoints keep the tied copy, and old ones the rotary table: both are implied
                    elif not (tied and name == "lm_head.weight") and not name.endswith("rotary_emb.inv_freq"):
                        unknown.append(key)
        except SafetensorError as error:
            raise ValueError(f"{file} is damaged or incomplete ({error}): get the model again") from None

    missing = sorted(wanted.keys() - loaded.keys())
    if missing or unknown:
        what = f"lacks {_some(missing)}" if missing else f"holds {_some(unknown)}, which no layer here uses"
        raise ValueError(f"the checkpoint in {folder} {what}")
    for name, shape in wanted.items():
        if loaded[name].shape != shape:
            found = list(loaded[name].shape)
            raise ValueError(f"{name} in {folder} has shape {found}, but config.json asks for {list(shape)}")
    model.load_state_dict(loaded, strict=False, assign=True)  # not strict: a tied lm_head has no tensor
    model.tie_weights()
    model.requires_grad_(False)  # an engine never needs gradients


def weight_files(folder) -> list[Path]:
    """The *.safetensors of a checkpoint: those its index names, else all. ValueError if one is missing."""
    folder = Path(folder)
    index = folder / "model.safetensors.index.json"
    if not index.is_file():
        return sorted(folder.glob("*.safetensors"))
    names = sorted(set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()))
    missing = [name for name in names if not (folder / name).is_file()]
    if missing:
        raise ValueError(f"{folder} lacks {_some(missing)}, which its index names: get the model again")
    return [folder / name for name in names]


def _some(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
