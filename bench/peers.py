"""What others reach with the same shape on the same device: python bench/peers.py

transformers' `generate`, eager, and with a static cache, which transformers compiles and captures by itself. Time
per token is the difference between a long and a short answer, so prompt and compilation do not count.
"""

import argparse
import time

import torch
from measure import SHAPES, about_this_run, add_common, attempt, dtype_on, finish, print_table, synchronize


def peer_model(name: str, device):
    """transformers' model of that shape, with random weights."""
    from transformers import AutoModelForCausalLM, Qwen3Config

    cfg = SHAPES[name]
    config = Qwen3Config(
        vocab_size=cfg.vocab_size,
        hidden_size=cfg.hidden_size,
        intermediate_size=cfg.intermediate_size,
        num_hidden_layers=cfg.num_hidden_layers,
        num_attention_heads=cfg.num_attention_heads,
        num_key_value_heads=cfg.num_key_value_heads,
        head_dim=cfg.hd,
        rms_norm_eps=cfg.rms_norm_eps,
        tie_word_embeddings=cfg.tie_word_embeddings,
        max_position_embeddings=4096,
        eos_token_id=None,
        bos_token_id=None,
        pad_token_id=0,
    )
    with torch.device(device):
        return AutoModelForCausalLM.from_config(config, dtype=dtype_on(device)).eval()


def ms_per_token(model, batch: int, context: int, new_tokens: int, **options) -> dict:
    """Generate twice, with few and with more tokens; the first run of all is for compilation."""
    ids = torch.randint(1, model.config.vocab_size, (batch, context), device=model.device)
    few, many = max(2, new_tokens // 4), new_tokens
    def seconds(tokens: int) -> float:
        synchronize(model.device)
        start = time.perf_counter()
        model.generate(
            ids, attention_mask=torch.ones_like(ids), max_new_tokens=tokens, min_new_tokens=tokens, do_sample=False,
            **options,
        )  # fmt: skip
        synchronize(model.device)
        return time.perf_counter() - start

    first = seconds(many)  # the long one first: a static cache that is large enough is used again
    seconds(few)
    short, long = seconds(few), seconds(many)
    return {"ms": 1000 * (long - short) / (many - few), "first_s": first}


def peers(name: str, device, batches, contexts, new_tokens: int, failures: list[str], deadline=float("inf")) -> list:
    """A row per peer, batch and context."""
    model = attempt("transformers", lambda: peer_model(name, device), failures)
    kinds = {"transformers eager": {}, "transformers static cache + compile": {"cache_implementation": "static"}}
    rows = []
    for peer, options in kinds.items() if model is not None else ():
        for batch in batches:
            for context in contexts:
                if time.time() > deadline:
                    failures.append(f"{peer}, batch {batch}, context {context}: no time left")
                    continue
                tokens = new_tokens if options else max(8, new_tokens // 2)

                def measured(b=batch, c=context, n=tokens, o=options):
                    return ms_per_token(model, b, c, n, **o)

                found = attempt(peer, measured, failures)
                if found:
                    rows.append({"peer": peer, "batch": batch, "context": context} | found)
                    print(f"  {peer}, batch {batch}, context {context}: {found['ms']:.3f} ms per token", flush=True)
    return rows


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_common(parser)
    parser.add_argument("--batches", type=int, nargs="+", default=[1])
    parser.add_argument("--contexts", type=int, nargs="+", default=[64])
    parser.add_argument("--new-tokens", type=int, default=64)
    arguments = parser.parse_args(argv)
    failures: list[str] = []
    rows = peers(
        arguments.config, arguments.device, arguments.batches, arguments.contexts, arguments.new_tokens, failures
    )
    print_table(rows, {"peer": "", "batch": "batch", "context": "context", "ms": "ms per token", "first_s": "first s"})
    finish({"bench": "peers", "config": arguments.config, **about_this_run(arguments.device), "rows": rows,
            "failures": failures}, arguments)  # fmt: skip


if __name__ == "__main__":
    main()
