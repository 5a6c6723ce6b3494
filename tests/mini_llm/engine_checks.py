"""What an engine has to do, as functions that raise when it does not.

`test_engine.py` runs them on every device; `test_planted_faults.py` runs them with a known fault put in, and
then they have to raise. Expected answers are those of the base Transformer, one request at a time.
"""

from collections import Counter

import pytest
import torch

from mini_llm import LLM, Config, SamplingParams, Transformer, generate
from mini_llm.dispatch import CUDAGraphMode

CFG = Config(101, 48, 80, 2, 6, 2, qk_norm=True)
SMALL = {"max_num_seqs": 4, "max_num_batched_tokens": 16, "max_model_len": 64, "block_size": 4, "num_blocks": 61}
SIZES = [1, 2, 4, 8, 16]
PROMPTS = [[5, 7, 9], [1], [3] * 17, [2, 4], list(range(1, 40)), [8, 8, 6], [90, 2]]


def sharp_model(cfg=CFG, device="cpu", seed=2):
    model = Transformer.random(cfg, device=device, seed=seed)
    for weight in model.parameters():
        if weight.ndim == 2:
            weight.data.mul_(12)  # sharp enough that a wrong key shows
    return model


def plain_answer(model, prompt, new_tokens):
    ids = torch.tensor([prompt], device=model.embed_tokens.weight.device)
    return generate(model, ids, new_tokens)[0].tolist()


def params_for(request: int) -> SamplingParams:
    return SamplingParams(max_new_tokens=6 + request)


def serve(llm, prompts, join_at=lambda request: 2 * request, leave=(), after=4):
    """Run `llm` while requests join one after the other and some leave: each one's tokens, and finish reasons."""
    tokens, reasons, ids, steps = {}, {}, {}, 0
    while len(ids) < len(prompts) or llm.has_unfinished():
        while len(ids) < len(prompts) and join_at(len(ids)) <= steps:
            number = llm.add(prompts[len(ids)], params_for(len(ids)))
            ids[number] = len(ids)
            tokens[ids[number]] = []
        for new in llm.step():
            tokens[ids[new.request_id]].append(new.token)
            reasons[ids[new.request_id]] = new.finish_reason
        for number, request in ids.items():
            if request in leave and len(tokens[request]) == after:
                llm.abort(number)
        steps += 1
        assert steps < 1000, "the engine goes round in circles"
    return tokens, reasons


def same_up_to_ties(reference_logits, expected, got, tolerance):
    """Whether two greedy answers are the same, or part where rounding alone decides (vllm 55238).

    `reference_logits(prefix)` are [vocab] after those answer tokens. Where the answers part, both tokens must be
    among those within `tolerance` of the best logit, so that the top-2 margin is below what rounding may change.
    What comes after that has other tokens before it, and says nothing.
    """
    for place, (theirs, ours) in enumerate(zip(expected, got, strict=True)):
        if theirs != ours:
            logits = reference_logits(expected[:place])
            return bool(logits.max() - logits[[theirs, ours]].min() <= tolerance)
    return True


def check_requests_join_and_leave(device, **options):
    """In whatever company, every request gets the answer it would get alone; those that leave get its beginning."""
    model = sharp_model(device=device)
    llm = LLM(model, **SMALL | {"cudagraph_mode": "FULL_DECODE_ONLY", "capture_sizes": SIZES} | options)
    for join_at in (lambda request: 0, lambda request: 3 * request):
        tokens, reasons = serve(llm, PROMPTS, join_at, leave=(2, 5))
        for request, prompt in enumerate(PROMPTS):
            expected = plain_answer(model, prompt, params_for(request).max_new_tokens)
            if request in (2, 5):
                assert tokens[request] == expected[:4] and reasons[request] is None
            else:
                assert tokens[request] == expected and reasons[request] == "length"
        assert llm.scheduler.pool.num_free() == llm.scheduler.usable_blocks
    return llm


def check_long_prompts_run_in_chunks(device):
    model = sharp_model(device=device)
    llm = LLM(model, **SMALL, enforce_eager=True)
    seen = []
    whole = llm.executor.run
    llm.executor.run = lambda batch: (seen.append(len(batch.input_ids)), whole(batch))[1]
    (answer,) = llm.generate([PROMPTS[4]], SamplingParams(max_new_tokens=5))
    assert answer.token_ids == plain_answer(model, PROMPTS[4], 5)
    assert seen == [16, 16, 7, 1, 1, 1, 1]


def check_preempted_requests_go_on(device):
    """With blocks for two answers and four requests, the youngest give way, and lose nothing."""
    model = sharp_model(device=device)
    llm = LLM(model, **SMALL | {"num_blocks": 12}, enforce_eager=True)
    seen = Counter()
    whole = llm.scheduler._preempt
    llm.scheduler._preempt = lambda request: (seen.update([request.id]), whole(request))[1]
    prompts = [[1, 2, 3], [4, 5, 6, 7], [8, 9], [10]]
    answers = llm.generate(prompts, SamplingParams(max_new_tokens=18))
    assert seen and 0 not in seen  # the oldest never
    assert [a.token_ids for a in answers] == [plain_answer(model, p, 18) for p in prompts]
    assert llm.scheduler.pool.num_free() == llm.scheduler.usable_blocks == 11


def check_the_null_block_is_nobodys(device):
    llm = LLM(sharp_model(device=device), **SMALL, enforce_eager=True)
    for prompt in PROMPTS[:4]:
        llm.add(prompt, SamplingParams(max_new_tokens=30))
    for _ in range(20):
        llm.step()
        blocks = [block for request in llm.scheduler.running for block in request.blocks]
        assert 0 not in blocks and len(blocks) == len(set(blocks))


def check_a_seed_gives_the_same_text_in_any_company(device):
    model = sharp_model(device=device)
    llm = LLM(model, **SMALL, enforce_eager=True)
    seeded = SamplingParams(max_new_tokens=12, temperature=3.0, top_p=0.95, seed=7)
    others = [SamplingParams(max_new_tokens=n, temperature=t, seed=n) for n, t in ((5, 1.0), (9, 0.0), (14, 2.0))]
    (alone,) = llm.generate([[5, 6]], seeded)
    in_company = llm.generate([[1], [2, 3], [5, 6], [4]], [*others[:2], seeded, others[2]])[2]
    (other_seed,) = llm.generate([[5, 6]], SamplingParams(max_new_tokens=12, temperature=3.0, top_p=0.95, seed=8))
    assert alone.token_ids == in_company.token_ids != other_seed.token_ids


def check_what_is_set_aside_is_enough(device):
    """The cache gets what is left after steps and graphs, so these must not need more than was measured."""
    cfg = Config(3001, 48, 80, 2, 6, 2)
    options = SMALL | {"num_blocks": None, "memory_share": 0.1}
    llm = LLM(Transformer.random(cfg, device=device), **options, cudagraph_mode="FULL_AND_PIECEWISE",
              capture_sizes=SIZES)  # fmt: skip
    assert 0 < llm.executor.captured_bytes <= llm.reserved_bytes


def check_answers_may_part_at_a_tie_only(device):
    logits = torch.tensor([0.0, 5.0, 4.999, 1.0])

    def after(prefix):
        return logits

    assert same_up_to_ties(after, [1, 1], [1, 1], 0.01)
    assert same_up_to_ties(after, [1, 1, 0], [1, 2, 3], 0.01)
    assert not same_up_to_ties(after, [1, 1], [1, 3], 0.01)
    assert not same_up_to_ties(after, [1, 1], [1, 2], 0.0001)
    with pytest.raises(ValueError):
        same_up_to_ties(after, [1, 1], [1], 0.01)


def check_every_mode_runs_what_it_is_for(device):
    """Uniform decodes in FULL, mixed batches in PIECEWISE, above the top in NONE."""
    llm = LLM(sharp_model(device=device), **SMALL, cudagraph_mode="FULL_AND_PIECEWISE", capture_sizes=[1, 2, 4, 8])
    for prompt in ([1] * 12, [2, 3, 4]):  # 15 tokens: above the top
        llm.add(prompt, SamplingParams(max_new_tokens=6))
    NONE, PIECEWISE, FULL = CUDAGraphMode.NONE, CUDAGraphMode.PIECEWISE, CUDAGraphMode.FULL

    def runs_in(mode):
        before = dict(llm.executor.steps)
        llm.step()
        assert llm.executor.steps == before | {mode: before[mode] + 1}

    runs_in(NONE)
    runs_in(FULL)
    llm.add([5, 6, 7], SamplingParams(max_new_tokens=2))
    runs_in(PIECEWISE)
    runs_in(FULL)


CHECKS = {name.removeprefix("check_"): check for name, check in list(globals().items()) if name.startswith("check_")}
