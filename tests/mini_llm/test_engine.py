"""The engine: every check of engine_checks.py, then its answers beside those of transformers in every mode."""

import logging
from collections import Counter

import pytest
import torch
from engine_checks import CHECKS, PROMPTS, SIZES, SMALL, params_for, plain_answer, same_up_to_ties, serve, sharp_model
from torch.profiler import ProfilerActivity, profile

from mini_llm import LLM, Config, SamplingParams, Transformer, build_batch
from mini_llm.dispatch import CUDAGraphMode
from mini_llm.executor import blocks_that_fit

GPUS = [pytest.param("cuda", marks=pytest.mark.gpu)] if torch.cuda.is_available() else []
MODES = ["NONE", "PIECEWISE", "FULL", "FULL_DECODE_ONLY", "FULL_AND_PIECEWISE"]


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("device", ["cpu", *GPUS])
@pytest.mark.parametrize("check", CHECKS)
def test_engine(check, device):
    CHECKS[check](device)


# --- beside transformers --------------------------------------------------------------------------

SHAPE = dict(
    vocab_size=101, hidden_size=48, intermediate_size=80, num_hidden_layers=2, num_attention_heads=6,
    num_key_value_heads=2, rope_parameters={"rope_type": "default", "rope_theta": 5e4}, max_position_embeddings=64,
    eos_token_id=None, bos_token_id=None,
)  # fmt: skip


@pytest.fixture(scope="module", params=["Llama", "Qwen2", "Qwen3"])
def peer(request, tmp_path_factory):
    """A small random checkpoint, transformers' model of it, and its greedy answers to all prompts."""
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    more = {"head_dim": 16} if request.param == "Qwen3" else {}
    config = getattr(transformers, f"{request.param}Config")(**SHAPE, **more)
    model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.float32).eval()
    for name, weight in model.named_parameters():
        weight.data.uniform_(0.5, 1.5) if "norm" in name else weight.data.normal_(std=0.3)
    folder = tmp_path_factory.mktemp("checkpoints") / request.param
    model.save_pretrained(folder)
    answers = {}
    for number, prompt in enumerate(PROMPTS):
        ids = torch.tensor([prompt])
        whole = model.generate(
            ids, attention_mask=torch.ones_like(ids), max_new_tokens=params_for(number).max_new_tokens, do_sample=False,
            pad_token_id=0,
        )  # fmt: skip
        answers[number] = whole[0, len(prompt) :].tolist()
    return folder, model, answers


def assert_like_transformers(llm, peer, tolerance):
    """Token for token. Where an answer parts from theirs, both tokens must be likeliest within rounding."""
    _, model, answers = peer
    tokens, _ = serve(llm, PROMPTS)
    for number, expected in answers.items():

        def logits_after(prefix, prompt=PROMPTS[number]):
            with torch.no_grad():
                return model(torch.tensor([prompt + prefix])).logits[0, -1]

        assert same_up_to_ties(logits_after, expected, tokens[number], tolerance), f"request {number}"


@pytest.mark.parametrize("device, dtype", [("cpu", torch.float32), *(
    pytest.param("cuda", dtype, marks=pytest.mark.gpu) for dtype in (torch.float32, torch.bfloat16) if GPUS
)])  # fmt: skip
@pytest.mark.parametrize("mode", MODES)
def test_greedy_answers_are_those_of_transformers_in_every_mode(peer, mode, device, dtype):
    attention = "sdpa_per_token" if mode == "FULL" and device == "cpu" else None  # mixed batches in graphs too
    options = SMALL | {"cudagraph_mode": mode, "capture_sizes": SIZES, "attention": attention}
    llm = LLM(peer[0], device=device, dtype=dtype, **options)
    assert llm.mode.name == mode
    assert_like_transformers(llm, peer, tolerance=1e-4 if dtype is torch.float32 else 0.5)
    used = {each.name for each, count in llm.executor.steps.items() if count}
    wanted = {"FULL_DECODE_ONLY": {"FULL", "NONE"}, "FULL_AND_PIECEWISE": {"FULL", "PIECEWISE"}}.get(mode, {mode})
    assert used == wanted


@pytest.fixture(scope="module")
def compiled_code(tmp_path_factory):
    """A folder of one's own for compiled code, so that it is this run's compiler that is tested."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MINI_LLM_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.mark.parametrize("peer", ["Qwen3"], indirect=True)
@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_greedy_answers_are_those_of_transformers_at_every_level(peer, level, compiled_code):
    llm = LLM(peer[0], device="cpu", **SMALL, level=level, capture_sizes=SIZES)
    assert llm.mode.name == ["NONE", "PIECEWISE", "FULL_AND_PIECEWISE", "FULL_AND_PIECEWISE"][level]
    assert_like_transformers(llm, peer, tolerance=1e-4)
    # Compiled code really ran, in graphs too: operators that it has taken in are not called one by one.
    for prompt in ([1, 2, 3], [4]):
        llm.add(prompt, SamplingParams(max_new_tokens=9))
    before = dict(llm.executor.steps)
    with profile(activities=[ProfilerActivity.CPU], acc_events=True) as profiler:
        for _ in range(3):
            llm.step()
    ran = {mode.name for mode, count in llm.executor.steps.items() if count > before[mode]}
    assert ran == [{"NONE"}, {"PIECEWISE"}, {"FULL", "PIECEWISE"}, {"FULL", "PIECEWISE"}][level]
    called = Counter(event.name for event in profiler.events())
    assert called["aten::embedding"] == (3 if level == 0 else 0)
    assert called["aten::rsqrt"] == {0: 3 * (4 * 2 + 1), 1: 0}.get(level, 3 * 4 * 2)  # twins of fused kernels norm


def test_the_final_rung_answers_like_transformers(peer):
    options = SMALL | {"cudagraph_mode": "FULL_DECODE_ONLY", "capture_sizes": SIZES, "decode_kernels": True}
    llm = LLM(peer[0], device="cpu", **options)
    assert llm.executor.decode_step is not None
    assert_like_transformers(llm, peer, tolerance=1e-4)
    assert llm.executor.steps[CUDAGraphMode.FULL] > 10


@pytest.mark.parametrize("peer", ["Qwen3"], indirect=True)
def test_engines_of_one_model_leave_each_other_right(peer, compiled_code):
    """The compiled one puts weights together that the first one's graphs read."""
    model = LLM(peer[0], device="cpu", **SMALL).model
    engines = [
        LLM(model, **SMALL, level=level, cudagraph_mode="FULL_DECODE_ONLY", capture_sizes=SIZES, decode_kernels=final)
        for level, final in ((0, False), (2, False), (2, False), (0, True))
    ]
    places = {name: weight.data_ptr() for name, weight in model.named_parameters()}
    for llm in engines:
        assert_like_transformers(llm, peer, tolerance=1e-4)
    assert places == {name: weight.data_ptr() for name, weight in model.named_parameters()}
    steps = [llm.executor.step for llm in engines[1:3]]
    packed = [[w.data_ptr() for name, w in step.weights.items() if name.startswith("packed")] for step in steps]
    assert packed[0] == packed[1] and set(packed[0]) <= set(places.values())


# --- stopping, streaming, refusing ----------------------------------------------------------------


@pytest.fixture(scope="module")
def model():
    return sharp_model()


def an_engine(model, **options):
    return LLM(model, **SMALL | {"enforce_eager": True} | options)


def test_end_tokens_stop_an_answer_and_are_kept(model):
    expected = plain_answer(model, [5, 7, 9], 20)
    end = expected[6]
    assert end not in expected[:6]
    llm = an_engine(model, eos_token_ids=[end])
    (answer,) = llm.generate([[5, 7, 9]], SamplingParams(max_new_tokens=20))
    assert answer.token_ids == expected[:7] and answer.finish_reason == "stop"
    (answer,) = llm.generate([[5, 7, 9]], SamplingParams(max_new_tokens=20, ignore_eos=True))
    assert answer.token_ids == expected and answer.finish_reason == "length"
    stops = SamplingParams(max_new_tokens=20, ignore_eos=True, stop_token_ids=(expected[2],))
    (answer,) = llm.generate([[5, 7, 9]], stops)
    assert answer.token_ids == expected[: expected.index(expected[2]) + 1] and answer.finish_reason == "stop"


def test_the_context_ends_an_answer(model):
    llm = an_engine(model, max_model_len=20)
    (answer,) = llm.generate([[1] * 12], SamplingParams(max_new_tokens=50))
    assert answer.finish_reason == "context" and answer.token_ids == plain_answer(model, [1] * 12, 8)
    with pytest.raises(ValueError, match="a prompt of 20 tokens leaves no room for an answer: the context holds 20"):
        llm.generate([[1] * 20])
    (answer,) = llm.generate([[1] * 19], SamplingParams(max_new_tokens=5))
    assert len(answer.token_ids) == 1 and answer.finish_reason == "context"


def test_a_context_beyond_the_models_own_is_refused(tiny_model):
    with pytest.raises(ValueError, match="leaves no room"):
        an_engine(sharp_model(), max_model_len=1)
    assert LLM(tiny_model, device="cpu", enforce_eager=True, max_num_seqs=2, num_blocks=9).max_model_len == 4096


@pytest.mark.parametrize(
    "prompt, new_tokens, message",
    [
        ([], 3, "the prompt is empty"),
        ([1] * 30, 30, "may need 15 blocks, and the cache has 9"),
        ("text", 3, "no tokenizer"),
    ],
)
def test_requests_that_could_never_run_are_refused(model, prompt, new_tokens, message):
    llm = an_engine(model, num_blocks=10)
    with pytest.raises(ValueError, match=message):
        llm.generate([[1, 2], prompt], SamplingParams(max_new_tokens=new_tokens))
    assert not llm.has_unfinished() and llm.step() == []
    assert llm.generate([[1, 2]], SamplingParams(max_new_tokens=3))[0].token_ids == plain_answer(model, [1, 2], 3)


@pytest.mark.parametrize(
    "wrong, message",
    [({"max_new_tokens": 0}, "at least 1"), ({"temperature": -1}, "temperature"), ({"top_p": 0}, "top_p"),
     ({"temperature": float("nan")}, "temperature"), ({"top_p": 1.5}, "top_p")],
)  # fmt: skip
def test_sampling_params_are_checked(wrong, message):
    with pytest.raises(ValueError, match=message):
        SamplingParams(**wrong)


def test_streaming_goes_on_beside_others_and_ends_when_closed(model):
    llm = an_engine(model)
    other = llm.add([1, 2], SamplingParams(max_new_tokens=30))
    expected = plain_answer(model, [5, 7, 9], 8)
    assert list(llm.stream([5, 7, 9], SamplingParams(max_new_tokens=8))) == expected
    stream = llm.stream([5, 7, 9], SamplingParams(max_new_tokens=30))
    assert [next(stream), next(stream)] == expected[:2]
    stream.close()
    assert [request.id for request in llm.scheduler.running] == [other]
    two = [llm.stream(prompt, SamplingParams(max_new_tokens=8)) for prompt in ([5, 7, 9], [3])]
    taken = [next(stream) for _ in range(8) for stream in two]
    assert taken[::2] == expected and taken[1::2] == plain_answer(model, [3], 8)


def test_text_in_text_out(tiny_model):
    llm = LLM(tiny_model, device="cpu", enforce_eager=True, max_num_seqs=2, num_blocks=20)
    assert llm.eos_token_ids == {256, 257}
    texts, ids = (llm.generate([prompt], SamplingParams(max_new_tokens=8))[0] for prompt in ("Why?", list(b"Why?")))
    assert isinstance(texts.text, str) and len(texts.token_ids) <= 8
    assert llm.tokenizer.encode("Why?") != [] and texts.text == llm.tokenizer.decode(texts.token_ids)
    assert ids.text == llm.tokenizer.decode(ids.token_ids)


# --- sampling -------------------------------------------------------------------------------------


def test_draws_follow_the_distribution():
    from mini_llm.sampling import pick_tokens

    probabilities = torch.tensor([0.1, 0.5, 0.15, 0.25])
    logits = (probabilities.log() * 2).repeat(1000, 1)  # at temperature 2
    for top_p, expected in ((1.0, probabilities), (0.7, torch.tensor([0, 0.5, 0, 0.25]) / 0.75)):
        params = [SamplingParams(temperature=2.0, top_p=top_p, seed=seed) for seed in range(1000)]
        picked = pick_tokens(logits, params, [each.draws() for each in params])
        shares = torch.bincount(torch.tensor(picked), minlength=4) / 1000
        assert (shares - expected).abs().max() < 0.05
        assert (shares[expected == 0] == 0).all()


def test_greedy_and_drawn_rows_share_a_batch():
    from mini_llm.sampling import pick_tokens

    logits = torch.tensor([[1.0, 9.0, 2.0], [0.0, 0.0, 50.0], [7.0, 1.0, 1.0]])
    params = [SamplingParams(), SamplingParams(temperature=1.0, seed=1), SamplingParams(temperature=1.0, top_p=0.01)]
    assert pick_tokens(logits, params, [each.draws() for each in params]) == [1, 2, 0]


# --- several tokens per request -------------------------------------------------------------------


@pytest.mark.parametrize("device", ["cpu", *GPUS])
def test_uniform_batches_of_three_tokens_run_in_full_graphs(device):
    """What verifying two drafts needs: logits of every token, from one replay; no drafter is here."""
    model = sharp_model(device=device)
    llm = LLM(model, **SMALL, query_len=3, cudagraph_mode="FULL_AND_PIECEWISE", capture_sizes=[3, 6, 12])
    tables = [[1 + 4 * r + i for i in range(4)] for r in range(3)]
    prompts = [[5, 7, 9, 2], [1, 2], [3, 4, 5]]
    items = [(prompt, 0, table, True) for prompt, table in zip(prompts, tables, strict=True)]
    llm.executor.run(build_batch(items, 4))
    drafts = [[8, 6, 4], [9, 9, 1], [2, 3, 4]]
    batch = build_batch([(d, len(p), t, True) for d, p, t in zip(drafts, prompts, tables, strict=True)], 4)
    batch.logits_indices = torch.arange(9)
    before = llm.executor.steps[CUDAGraphMode.FULL]
    logits = llm.executor.run(batch)
    assert llm.executor.steps[CUDAGraphMode.FULL] == before + 1
    for r in range(3):
        with torch.no_grad():
            expected = model(torch.tensor([prompts[r] + drafts[r]], device=device))[0, -3:]
        assert (logits[3 * r : 3 * r + 3] - expected).abs().max() <= 1e-4 * expected.abs().max()


def test_several_tokens_per_request_need_a_backend_that_can(caplog):
    with pytest.raises(ValueError, match="never"):
        an_engine(sharp_model(), enforce_eager=False, cudagraph_mode="FULL", attention="reference")
    llm = an_engine(
        sharp_model(), enforce_eager=False, cudagraph_mode="FULL_DECODE_ONLY", attention="reference", capture_sizes=[2]
    )
    assert llm.mode is CUDAGraphMode.PIECEWISE and "can never be captured" in caplog.text


# --- start-up -------------------------------------------------------------------------------------


def test_the_log_says_how_long_capture_took_and_what_it_holds(model, caplog, capsys):
    with caplog.at_level(logging.INFO):
        llm = LLM(model, **SMALL, cudagraph_mode="FULL_AND_PIECEWISE", capture_sizes=[1, 2, 4, 8], progress=True)
    assert "4 PIECEWISE and 3 FULL sizes captured in " in caplog.text and " GiB" in caplog.text
    assert "engine ready in " in caplog.text and "FULL_AND_PIECEWISE" in caplog.text
    assert llm.executor.capture_seconds > 0 and llm.executor.captured_bytes > 0
    bars = capsys.readouterr().err
    assert "4/4" in bars and "3/3" in bars and "size 1, " in bars and "GiB left" in bars


def test_a_cpu_starts_at_once_unless_it_is_told_otherwise(model):
    llm = LLM(model, max_model_len=64, max_num_seqs=4)
    assert llm.mode is CUDAGraphMode.NONE and not llm.optimization.compile and llm.executor.captured_bytes == 0


def test_the_cache_gets_what_is_left():
    assert blocks_that_fit(free=1000, reserve=200, share=0.5, bytes_per_block=10, wanted=100) == 40
    assert blocks_that_fit(free=1000, reserve=200, share=0.5, bytes_per_block=10, wanted=7) == 7
    with pytest.raises(ValueError, match="no memory for a KV cache"):
        blocks_that_fit(free=1000, reserve=990, share=0.9, bytes_per_block=10, wanted=100)


def test_the_cache_holds_all_requests_at_their_longest_and_no_more(model):
    llm = LLM(model, max_model_len=64, max_num_seqs=3, block_size=16, enforce_eager=True)
    assert llm.scheduler.usable_blocks == 12


def test_an_engine_takes_any_config_field_and_no_other():
    with pytest.raises(TypeError, match="colour"):
        LLM(Transformer.random(Config(11, 16, 16, 1, 2, 1)), colour="red")
