"""Greedy and sampled text, end tokens, batches."""

import pytest
import torch

from mini_llm import Config, Transformer, argmax, generate, sampler, stream


@pytest.fixture(scope="module")
def model():
    # sharp enough that no two tokens tie
    model = Transformer.random(Config(101, 48, 80, 2, 6, 2, qk_norm=True), seed=5)
    for weight in model.parameters():
        if weight.ndim == 2:
            weight.data.mul_(12)
    return model


PROMPTS = torch.tensor([[5, 17, 80, 2], [9, 9, 33, 71], [60, 1, 44, 8]])


def greedy_without_cache(model, ids, count):
    for _ in range(count):
        ids = torch.cat((ids, model(ids)[:, -1:].argmax(-1)), dim=1)
    return ids[:, -count:]


def test_greedy_text_equals_recomputing_everything(model):
    out = generate(model, PROMPTS, 12)
    assert out.shape == (3, 12) and out.dtype == torch.long
    assert torch.equal(out, greedy_without_cache(model, PROMPTS, 12))
    assert len(out.unique()) > 3, "a model that repeats one token would hide mistakes"


def test_a_prompt_is_answered_alike_alone_and_in_a_batch(model):
    together = generate(model, PROMPTS, 8)
    for i in range(3):
        assert torch.equal(generate(model, PROMPTS[i : i + 1], 8), together[i : i + 1])


def test_stream_yields_what_generate_returns(model):
    tokens = list(stream(model, PROMPTS, 5))
    assert [token.shape for token in tokens] == [(3,)] * 5
    assert torch.equal(torch.stack(tokens, 1), generate(model, PROMPTS, 5))


def test_an_ended_prompt_repeats_its_end_and_the_last_one_ends_the_text(model):
    free = generate(model, PROMPTS, 12)
    ends = [free[0, 1].item(), free[1, 4].item(), free[2, 2].item()]
    out = generate(model, PROMPTS, 12, eos_token_id=ends)
    for row, expected in zip(out, free, strict=True):
        stop = next(i for i, token in enumerate(expected.tolist()) if token in ends)
        assert row[: stop + 1].tolist() == expected[: stop + 1].tolist()
        assert row[stop:].unique().tolist() == [expected[stop].item()]
    assert out.shape[1] <= 5, "nothing is computed after the last prompt has ended"


def test_one_end_token_as_an_int_zero_included(model):
    first = generate(model, PROMPTS[:1], 1).item()
    assert generate(model, PROMPTS[:1], 9, eos_token_id=first).tolist() == [[first]]

    def always_zero(logits):
        return torch.zeros(len(logits), dtype=torch.long)

    assert generate(model, PROMPTS[:1], 9, pick=always_zero, eos_token_id=0).tolist() == [[0]]


def test_nothing_asked_for_and_nothing_given(model):
    assert generate(model, PROMPTS, 0).shape == (3, 0)
    with pytest.raises(ValueError, match="at least one token"):
        generate(model, PROMPTS[:, :0], 3)
    with pytest.raises(ValueError, match="input_ids"):
        generate(model, PROMPTS[0], 3)


def test_generating_records_no_gradients(model):
    seen = []

    def pick(logits):
        seen.append(logits.requires_grad)
        return argmax(logits)

    model.requires_grad_(True)
    try:
        generate(model, PROMPTS, 2, pick=pick)
    finally:
        model.requires_grad_(False)
    assert seen == [False, False]


LOGITS = torch.tensor([[0.0, 3.0, 2.0, 1.0]])


def draws(pick, count=4000):
    return torch.bincount(pick(LOGITS.expand(count, 4)), minlength=4) / count


def test_sampling_follows_the_probabilities():
    for temperature in (0.5, 1.0, 2.0):
        expected = (LOGITS[0] / temperature).softmax(-1)
        assert (draws(sampler(temperature, seed=1)) - expected).abs().max() <= 0.03


def test_top_p_keeps_the_smallest_set_that_holds_p():
    # probabilities in order 0.644 0.237 0.087 0.032
    assert draws(sampler(top_p=0.6, seed=1)).tolist() == [0, 1, 0, 0]
    kept = draws(sampler(top_p=0.7, seed=1))
    assert kept[0] == kept[3] == 0 and abs(kept[1] - 0.731) <= 0.03


def test_a_seed_repeats_the_text(model):
    texts = [generate(model, PROMPTS, 10, pick=sampler(seed=seed)) for seed in (3, 3, 4)]
    assert torch.equal(texts[0], texts[1]) and not torch.equal(texts[0], texts[2])


@pytest.mark.parametrize("arguments", [(0.0,), (-1.0,), (float("nan"),), (1.0, 0.0), (1.0, 1.1)])
def test_sampler_refuses_what_has_no_meaning(arguments):
    with pytest.raises(ValueError, match="temperature|top_p"):
        sampler(*arguments)
