"""Read a checkpoint's *.safetensors into a model."""

import json
from collections.abc import Sequence
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


def side_by_side(weights: Sequence[torch.Tensor]) -> torch.Tensor:
    """These weights in one tensor, row after row, which they then are views of.

    The first call moves them. Later ones find them there, so all engines of a model share one copy, and what one
    has captured stays true.
    """
    first, rows = weights[0], sum(map(len, weights))
    place, together = first.data_ptr(), True
    for weight in weights:
        together = together and weight.data_ptr() == place and weight.is_contiguous()
        place += weight.nbytes
    whole = first.untyped_storage()
    if together and place <= whole.data_ptr() + whole.nbytes():
        return first.data.new_empty(0).set_(whole, first.storage_offset(), (rows, *first.shape[1:]))
    packed = torch.cat([weight.data for weight in weights])
    for weight, part in zip(weights, packed.split([len(weight) for weight in weights]), strict=True):
        weight.data = part
    return packed


def put_together(model) -> None:
    """Lay the weights side by side that compiled steps multiply at once: before anything is captured, for ever."""
    for layer in model.layers:
        attn, mlp = layer.self_attn, layer.mlp
        for group in ((attn.q_proj, attn.k_proj, attn.v_proj), (mlp.gate_proj, mlp.up_proj)):
            side_by_side([part.weight for part in group])
            if group[0].bias is not None:
                side_by_side([part.bias for part in group])


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
