"""The command line: python -m mini_llm fetch | generate | bench | info."""

from __future__ import annotations  # an old Python reads on until it is told that it is too old

import argparse
import os
import sys
import time
from importlib.util import find_spec
from pathlib import Path

EXAMPLES = """examples:
  python -m mini_llm fetch smollm2
  python -m mini_llm generate --model smollm2 "What is the capital of France?"
  python -m mini_llm generate --model smollm2 --raw --max-new-tokens 20 "Once upon a time"
  python -m mini_llm generate --model smollm2 --level O2 --verbose "Name three fruits."
  python -m mini_llm bench --model smollm2 --requests 4 --max-new-tokens 16
  python -m mini_llm info --model smollm2 --level O2
"""
MODES = ("NONE", "PIECEWISE", "FULL", "FULL_DECODE_ONLY", "FULL_AND_PIECEWISE")


def main(argv: list[str] | None = None) -> int:
    """Run one command and return its exit status: 0, 2 for what the user can put right, 130 for Ctrl-C."""
    if sys.version_info < (3, 11):  # noqa: UP036
        return _fail(f"Python 3.11 or newer is needed, and {sys.executable} is older: run `make learn` once")
    arguments = _parser().parse_args(argv)
    try:
        arguments.run(arguments)
    except KeyboardInterrupt:
        print("\nstopped", file=sys.stderr)
        return 130
    except ImportError as error:
        return _fail(f"{error.name or error} is not installed in {sys.executable}: run `make learn` once")
    except (ValueError, OSError, RuntimeError) as error:
        return _fail(str(error))
    return 0


def _fail(message: str) -> int:
    print(f"mini_llm: {message}", file=sys.stderr)
    return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m mini_llm",
        description="A small inference engine: bring a model, let it answer, look at its shape.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(required=True, metavar="command")
    model = argparse.ArgumentParser(add_help=False)
    model.add_argument("--model", default="smollm2", metavar="NAME", help="a name or a folder; default: smollm2")
    engine = model.add_argument_group("engine")
    levels = ("O0", "O1", "O2", "O3")
    engine.add_argument("--level", choices=levels, help="more start-up, faster steps; default: O2 on a GPU, else O0")
    engine.add_argument("--cudagraph-mode", choices=MODES, help="default: as the level says")
    engine.add_argument("--enforce-eager", action="store_true", help="no compilation, no graphs")
    dtypes = ("float32", "bfloat16", "float16")
    engine.add_argument("--dtype", choices=dtypes, help="of the weights; default: bfloat16 on a GPU, float32 elsewhere")
    engine.add_argument("--device", help="cpu, cuda, cuda:1, ...; default: cuda where there is one")
    engine.add_argument("--threads", type=_count, metavar="N", help="CPU threads; default: torch's choice")
    engine.add_argument("--verbose", action="store_true", help="show the engine's log")

    def command(run, text, parents=(model,)):
        added = commands.add_parser(run.__name__[1:], help=text, parents=parents)
        added.set_defaults(run=run)
        return added

    fetch = command(_fetch, "bring a model to models/", parents=())
    fetch.add_argument("name", nargs="?", help="smollm2 or qwen3-0.6b")
    fetch.add_argument("--list", action="store_true", help="show which models there are, and which are here")
    fetch.add_argument("--to", metavar="DIR", help="put the model's folder into DIR instead of models/")

    generate = command(_generate, "answer a prompt, token by token")
    generate.add_argument("prompt")
    generate.add_argument("--raw", action="store_true", help="continue the text, without a chat template")
    for name, kind, letter, default, text in (
        ("max-new-tokens", _count, "N", 200, "default: 200"),
        ("temperature", float, "T", 0.0, "default: 0, always the likeliest token"),
        ("top-p", float, "P", 1.0, "draw from the likeliest of mass P; default: 1"),
        ("seed", int, "N", None, "the same seed draws the same text"),
    ):
        generate.add_argument(f"--{name}", type=kind, metavar=letter, default=default, help=text)

    bench = command(_bench, "answer many made-up prompts at once, and say how fast")
    for name, default in (("requests", 16), ("prompt-tokens", 64), ("max-new-tokens", 64), ("max-num-seqs", 256)):
        bench.add_argument(f"--{name}", type=_count, metavar="N", default=default, help=f"default: {default}")

    command(_info, "say what a model is, where it is, and how it would run")
    return parser


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"a whole number of at least 1 is needed, not {text!r}")
    return int(text)


def _fetch(arguments) -> None:
    from .checkpoints import KNOWN_MODELS, is_model, models_folder
    from .fetch import fetch

    if arguments.list or arguments.name is None:
        home = Path(arguments.to or models_folder())
        for model in KNOWN_MODELS.values():
            here = "here" if is_model(home / model.folder) else "not here"
            print(f"{model.name:12} {here:9} {model.about}")
        if not arguments.list:
            raise ValueError("which model? Name one: python -m mini_llm fetch smollm2")
        return
    fetch(arguments.name, arguments.to)


def _generate(arguments) -> None:
    from .checkpoints import find_model

    folder = find_model(arguments.model)  # before the seconds that importing torch takes

    from .sampling import SamplingParams
    from .text import Tokenizer

    params = SamplingParams(arguments.max_new_tokens, arguments.temperature, arguments.top_p, arguments.seed)
    tokenizer = Tokenizer(folder)
    chat = tokenizer.chat_template and not arguments.raw
    prompt = tokenizer.encode_chat(arguments.prompt) if chat else tokenizer.encode(arguments.prompt)
    llm = _engine(arguments, folder, max_num_seqs=1)

    times = [time.perf_counter()]

    def new_tokens():
        for token in llm.stream(prompt, params):
            times.append(time.perf_counter())
            if token not in llm.eos_token_ids:
                yield token

    for piece in tokenizer.pieces(new_tokens()):
        print(piece, end="", flush=True)
    print()

    name = str(llm.model.embed_tokens.weight.dtype).removeprefix("torch.")
    speed = f"prefill of {len(prompt)} tokens {times[1] - times[0]:.2f} s"
    if len(times) > 2:
        speed += f", then {(len(times) - 2) / (times[-1] - times[1]):.1f} tokens/s"
    print(f"[{folder.name}, {name} on {llm.device}: {speed}]", file=sys.stderr)


def _bench(arguments) -> None:
    from .checkpoints import find_model

    folder = find_model(arguments.model)
    arguments.verbose = True

    from .sampling import SamplingParams

    start = time.perf_counter()
    llm = _engine(arguments, folder, max_num_seqs=arguments.max_num_seqs)
    ready = time.perf_counter()
    vocabulary = llm.model.cfg.vocab_size
    prompts = [[(7 * i + n) % vocabulary for n in range(arguments.prompt_tokens)] for i in range(arguments.requests)]
    answers = llm.generate(prompts, SamplingParams(arguments.max_new_tokens, ignore_eos=True))
    seconds, tokens = time.perf_counter() - ready, sum(len(answer.token_ids) for answer in answers)
    steps = ", ".join(f"{count} {mode.name}" for mode, count in llm.executor.steps.items() if count)
    print(f"{'start-up':24} {ready - start:.1f} s, of it {llm.executor.capture_seconds:.1f} s capture")
    print(f"{'requests':24} {len(prompts)} with {arguments.prompt_tokens} tokens each")
    print(f"{'steps':24} {steps}")
    print(f"{'new tokens':24} {tokens} in {seconds:.2f} s: {tokens / seconds:.1f} tokens/s")


def _engine(arguments, folder, **options):
    """The engine that the command line asks for."""
    import logging

    import torch

    from .engine import LLM

    if arguments.verbose:
        logging.basicConfig(format="%(message)s", stream=sys.stderr)
        logging.getLogger("mini_llm").setLevel(logging.INFO)
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    dtype = arguments.dtype and getattr(torch, arguments.dtype)
    progress = arguments.verbose and sys.stderr.isatty()
    return LLM(folder, device=arguments.device, dtype=dtype, progress=progress, **_flags(arguments), **options)


def _flags(arguments) -> dict:
    level = arguments.level and int(arguments.level[1])
    return {"level": level, "cudagraph_mode": arguments.cudagraph_mode, "enforce_eager": arguments.enforce_eager}


def _info(arguments) -> None:
    from .checkpoints import find_model
    from .config import Config
    from .weights import weight_files

    folder = find_model(arguments.model)
    cfg = Config.from_json(folder)
    files = weight_files(folder)
    print(f"{'folder':24} {folder.resolve()}")
    print(f"{'weights':24} {sum(file.stat().st_size for file in files) / 1e9:.2f} GB in {len(files)} file(s)")
    for name, value in vars(cfg).items():
        print(f"{name:24} {value}")
    print(f"{'parameters':24} {cfg.num_parameters():,}")
    print(f"{'KV cache per token':24} {cfg.kv_numbers_per_token():,} numbers")

    from .engine import LLM

    for name, value in LLM.plan(arguments.device, **_flags(arguments)).items():
        print(f"{name:24} {value}")


def _use_the_course_environment() -> None:
    """A bare `python -m mini_llm` goes on in the .venv that `make learn` made, if this Python lacks torch."""
    here = Path(__file__).resolve()
    for root in list(here.parents)[1:3]:  # the course, or a workspace inside it
        python = root / ".venv" / "bin" / "python"
        if python.is_file() and Path(sys.prefix).resolve() != (root / ".venv").resolve():
            os.execv(python, [str(python), "-m", "mini_llm", *sys.argv[1:]])


if __name__ == "__main__":
    if find_spec("torch") is None:
        _use_the_course_environment()
    sys.exit(main())
