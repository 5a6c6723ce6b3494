"""python -m mini_llm: what it prints, and how it fails."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from mini_llm import Transformer, generate
from mini_llm.__main__ import main
from mini_llm.text import Tokenizer

ROOT = Path(__file__).resolve().parents[2]


def run(*arguments, code=("-m", "mini_llm"), **options):
    command = [sys.executable, *code, *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, encoding="utf-8", **options)


def expected(folder, ids, count):
    tokenizer, model = Tokenizer(folder), Transformer.from_pretrained(folder)
    out = generate(model, torch.tensor([ids]), count, eos_token_id=tokenizer.eos_token_ids)
    return tokenizer.decode(out[0].tolist())


@pytest.mark.parametrize("raw", [False, True])
def test_generate_prints_the_greedy_text(models, tiny_model, capsys, raw):
    tokenizer = Tokenizer(tiny_model)
    ids = tokenizer.encode("Why?") if raw else tokenizer.encode_chat("Why?")
    arguments = ["generate", "--model", str(tiny_model), "--device", "cpu", "--max-new-tokens", "20", "Why?"]
    assert main(arguments + ["--raw"] * raw) == 0
    printed = capsys.readouterr()
    assert printed.out == expected(tiny_model, ids, 20) + "\n"
    assert re.search(rf"tiny, float32 on cpu: prefill of {len(ids)} tokens .* tokens/s", printed.err)


def test_generate_writes_each_piece_at_once(models, tiny_model, monkeypatch):
    writes = []
    monkeypatch.setattr("builtins.print", lambda *args, **options: writes.append((args, options)))
    assert main(["generate", "--model", str(tiny_model), "--max-new-tokens", "20", "Why?"]) == 0
    pieces = [options for _, options in writes if options.get("end") == ""]
    assert len(pieces) > 3 and all(options["flush"] for options in pieces)


def test_generate_draws_by_seed(models, tiny_model, capsys):
    texts = []
    for seed in ("1", "1", "2"):
        drawn = ["--temperature", "1.5", "--top-p", "0.9", "--seed", seed]
        assert main(["generate", "--model", str(tiny_model), "--max-new-tokens", "12", *drawn, "Why?"]) == 0
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1] != texts[2]


def test_generate_takes_dtype_device_and_threads(models, tiny_model, capsys):
    before = torch.get_num_threads()
    settings = ["--dtype", "bfloat16", "--device", "cpu", "--threads", "1", "--max-new-tokens", "1"]
    try:
        assert main(["generate", "--model", str(tiny_model), *settings, "Why?"]) == 0
        assert torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(before)
    assert "bfloat16 on cpu" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["--model", "smollm2"], "`python -m mini_llm fetch smollm2`"),
        (["--model", "nowhere"], "no model 'nowhere'"),
        (["--model", "TINY", "--device", "cuda:99"], "no device cuda:99"),
        (["--model", "TINY", "--device", "abacus"], "abacus"),
        (["--model", "TINY", "--temperature", "-1"], "temperature must be above 0"),
        (["--model", "TINY", "--temperature", "1", "--top-p", "0"], "top_p must be above 0"),
        (["--model", "NO_TOKENIZER"], "holds no tokenizer.json"),
    ],
)
def test_a_mistake_is_one_sentence_and_status_2(models, tiny_model, tmp_path, capsys, arguments, said):
    bare = shutil.copytree(tiny_model, tmp_path / "bare")
    (bare / "tokenizer.json").unlink()
    places = {"TINY": str(tiny_model), "NO_TOKENIZER": str(bare)}
    assert main(["generate", *[places.get(word, word) for word in arguments], "Why?"]) == 2
    error = capsys.readouterr().err
    assert said in error and error.startswith("mini_llm: ") and error.count("\n") == 1


def test_an_empty_prompt_is_refused(models, tiny_model, capsys):
    assert main(["generate", "--model", str(tiny_model), "--raw", ""]) == 2
    assert "prompt is empty" in capsys.readouterr().err


@pytest.mark.parametrize("wrong", ["0", "-3", "many"])
def test_counts_are_checked_by_the_parser(wrong, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["generate", "--max-new-tokens", wrong, "Why?"])
    assert stopped.value.code == 2 and "whole number" in capsys.readouterr().err


def test_ctrl_c_ends_quietly(models, tiny_model, monkeypatch, capsys):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("mini_llm.engine.LLM.step", interrupted)
    assert main(["generate", "--model", str(tiny_model), "Why?"]) == 130
    assert capsys.readouterr().err.strip() == "stopped"


def test_info_names_the_shape(models, tiny_model, capsys):
    assert main(["info", "--model", str(tiny_model)]) == 0
    lines = dict(re.split(r"\s{2,}", line, maxsplit=1) for line in capsys.readouterr().out.splitlines())
    model = Transformer.from_pretrained(tiny_model)
    assert lines["parameters"] == f"{sum(weight.numel() for weight in model.parameters()):,}"
    assert lines["num_key_value_heads"] == "2"
    assert lines["KV cache per token"] == "64 numbers"


@pytest.mark.parametrize("flags", [["--enforce-eager"], ["--level", "O0", "--cudagraph-mode", "FULL_AND_PIECEWISE"]])
def test_generate_runs_the_engine_that_was_asked_for(models, tiny_model, capsys, caplog, flags):
    arguments = ["--model", str(tiny_model), "--device", "cpu", "--max-new-tokens", "20", "--verbose", *flags, "Why?"]
    with caplog.at_level("INFO", logger="mini_llm"):
        assert main(["generate", *arguments]) == 0
    ids = Tokenizer(tiny_model).encode_chat("Why?")
    assert capsys.readouterr().out == expected(tiny_model, ids, 20) + "\n"
    assert f"s: {'NONE' if len(flags) == 1 else flags[-1]}, SDPABackend" in caplog.text


def test_bench_counts_what_it_ran(models, tiny_model, capsys):
    sizes = ["--requests", "3", "--prompt-tokens", "5", "--max-new-tokens", "4", "--max-num-seqs", "2"]
    assert main(["bench", "--model", str(tiny_model), "--cudagraph-mode", "FULL_DECODE_ONLY", *sizes]) == 0
    lines = dict(re.split(r"\s{2,}", line, maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert re.fullmatch(r"12 in .* s: .* tokens/s", lines["new tokens"])
    assert lines["steps"] == "2 NONE, 6 FULL" and "capture" in lines["start-up"]


@pytest.mark.parametrize(
    "flags, expected",
    [
        ([], {"graphs": "NONE", "compilation": "off", "capture sizes": "none"}),
        (["--level", "O2"], {"graphs": "FULL_AND_PIECEWISE", "graphs to capture": "51 PIECEWISE, 35 FULL"}),
        (["--level", "O2", "--enforce-eager"], {"graphs": "NONE", "compilation": "off"}),
        (["--level", "O1", "--cudagraph-mode", "FULL_DECODE_ONLY"], {"graphs to capture": "0 PIECEWISE, 35 FULL"}),
    ],
)
def test_info_says_how_it_would_run(models, tiny_model, capsys, flags, expected):
    assert main(["info", "--model", str(tiny_model), "--device", "cpu", *flags]) == 0
    lines = dict(re.split(r"\s{2,}", line, maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert expected.items() <= lines.items()


def test_as_a_program():
    done = run("--help")
    assert done.returncode == 0 and "examples:" in done.stdout
    for command in ("fetch", "generate", "bench", "info"):
        assert command in done.stdout
        assert run(command, "--help").returncode == 0
    done = run()
    assert done.returncode == 2 and "Traceback" not in done.stderr
    done = run("generate", "--model", "nowhere", "hi")
    assert done.returncode == 2 and "Traceback" not in done.stderr


def test_finding_and_listing_models_takes_no_torch():
    code = (
        "import sys; from mini_llm.__main__ import main; main(['fetch', '--list']); "
        "main(['generate', '--model', 'nowhere', 'hi']); sys.exit('torch' in sys.modules)"
    )
    assert run(code=("-c", code)).returncode == 0


def test_an_older_python_is_told_so(monkeypatch, capsys):
    from mini_llm.__main__ import main

    monkeypatch.setattr(sys, "version_info", (3, 9, 18))
    assert main(["info"]) == 2
    assert capsys.readouterr().err.startswith("mini_llm: Python 3.11 or newer is needed, and ")


def test_a_missing_package_is_named(tiny_model):
    code = "import sys; sys.modules['torch'] = None; from mini_llm.__main__ import main; sys.exit(main())"
    done = run("generate", "--model", str(tiny_model), "hi", code=("-c", code))
    assert done.returncode == 2
    assert "torch is not installed in" in done.stderr and "`make learn`" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_bare_python_goes_on_in_the_course_environment(tmp_path):
    """`python -m mini_llm` outside the environment: the .venv beside the package takes over."""
    shutil.copytree(ROOT / "mini_llm", tmp_path / "mini_llm", ignore=shutil.ignore_patterns("__pycache__"))
    taken_over = tmp_path / ".venv" / "bin" / "python"
    taken_over.parent.mkdir(parents=True)
    taken_over.write_text('#!/bin/sh\necho "in the environment: $@"\n')
    taken_over.chmod(0o755)
    # -S leaves out site-packages, so this Python has no torch
    command = [sys.executable, "-S", "-m", "mini_llm", "info", "--model", "a b"]
    environment = {"PATH": "/usr/bin:/bin"}
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=environment)
    assert done.stdout == "in the environment: -m mini_llm info --model a b\n"
