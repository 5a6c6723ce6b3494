"""Who runs when: the scheduler alone, with no model behind it."""

import random

import pytest

from mini_llm.sampling import SamplingParams
from mini_llm.scheduler import Request, Scheduler

ANSWER = 5  # every token that the make-believe model gives


def a_scheduler(num_blocks=20, block_size=4, max_num_seqs=3, max_num_batched_tokens=10, max_model_len=40):
    return Scheduler(num_blocks, block_size, max_num_seqs, max_num_batched_tokens, max_model_len)


def a_request(number, prompt_len, max_new_tokens=4, **params):
    return Request(number, [1] * prompt_len, SamplingParams(max_new_tokens=max_new_tokens, **params))


def step(scheduler):
    """One step of a model that always gives the same token: (id, tokens) of each request in the batch."""
    batch = scheduler.schedule()
    scheduler.advance(batch)
    for request, _ in batch:
        if request.waits_for_token:
            scheduler.append(request, ANSWER)
    return [(request.id, n) for request, n in batch]


def test_prefill_in_chunks_then_decode():
    scheduler = a_scheduler()
    scheduler.add(a_request(0, 23))
    assert [step(scheduler) for _ in range(7)] == [[(0, 10)], [(0, 10)], [(0, 3)], [(0, 1)], [(0, 1)], [(0, 1)], []]


def test_decodes_come_before_prefills_and_share_the_budget():
    scheduler = a_scheduler()
    scheduler.add(a_request(0, 3))
    assert step(scheduler) == [(0, 3)]
    scheduler.add(a_request(1, 12))
    scheduler.add(a_request(2, 2))
    assert step(scheduler) == [(0, 1), (1, 9)]
    assert step(scheduler) == [(0, 1), (1, 3), (2, 2)]
    assert step(scheduler) == [(0, 1), (1, 1), (2, 1)]


def test_at_most_so_many_requests_run_and_first_come_is_first_served():
    scheduler = a_scheduler(max_num_seqs=2)
    for number in range(4):
        scheduler.add(a_request(number, 2, max_new_tokens=1 + number))
    assert step(scheduler) == [(0, 2), (1, 2)]
    assert step(scheduler) == [(1, 1), (2, 2)]  # 0 has ended
    assert step(scheduler) == [(2, 1), (3, 2)]


def test_a_request_joins_when_its_blocks_are_free_and_nobody_overtakes_it():
    scheduler = a_scheduler(num_blocks=6, max_num_batched_tokens=100)  # 5 blocks of 4
    scheduler.add(a_request(0, 11, max_new_tokens=2))
    scheduler.add(a_request(1, 12, max_new_tokens=2))
    scheduler.add(a_request(2, 1, max_new_tokens=2))
    assert step(scheduler) == [(0, 11)]  # 3 blocks; 1 needs 3, and 2 waits behind it
    assert step(scheduler) == [(0, 1)]
    assert step(scheduler) == [(1, 12), (2, 1)]


def test_the_youngest_gives_way_and_computes_its_tokens_again():
    scheduler = a_scheduler(num_blocks=5, max_num_batched_tokens=100)  # 4 blocks of 4
    old, young = a_request(0, 4, max_new_tokens=12), a_request(1, 4, max_new_tokens=8)
    scheduler.add(old)
    scheduler.add(young)
    for _ in range(4):
        step(scheduler)
    assert len(old.blocks) == len(young.blocks) == 2 and scheduler.pool.num_free() == 0
    steps = [step(scheduler) for _ in range(3)]
    assert steps[0] == [(0, 1), (1, 1)]
    assert steps[1] == [(0, 1)] and young.preemptions == 1 and not young.blocks and young.computed == 0
    assert len(young.new_tokens) == 5
    while young.finish_reason is None:
        last = step(scheduler)
        if (1, 9) in last:
            assert old.finish_reason == "length"  # prompt and 5 tokens at once, when there is room again
    assert young.new_tokens == [ANSWER] * 8 and scheduler.pool.num_free() == 4


def test_finish_reasons():
    scheduler = a_scheduler()
    requests = {
        "length": a_request(0, 3, max_new_tokens=2),
        "stop": Request(1, [1, 1], SamplingParams(max_new_tokens=9), frozenset([ANSWER])),
        "context": Request(2, [1] * 38, SamplingParams(max_new_tokens=9)),
    }
    for request in requests.values():
        scheduler.add(request)
    while step(scheduler):
        pass
    assert {reason: request.finish_reason for reason, request in requests.items()} == {r: r for r in requests}
    assert [len(request.new_tokens) for request in requests.values()] == [2, 1, 2]


def test_a_request_may_leave_while_it_waits_and_while_it_runs():
    scheduler = a_scheduler(max_num_seqs=1)
    running, waiting = a_request(0, 3), a_request(1, 3)
    for request in (running, waiting):
        scheduler.add(request)
    step(scheduler)
    for request in (waiting, running, running):  # twice does no harm
        scheduler.finish(request, "abort")
    assert step(scheduler) == [] and scheduler.pool.num_free() == scheduler.usable_blocks == 19
    assert running.finish_reason == waiting.finish_reason == "abort"


@pytest.mark.parametrize(
    "prompt_len, max_new_tokens, message",
    [(0, 1, "empty"), (40, 1, "leaves no room"), (20, 20, "may need 10 blocks, and the cache has 7")],
)
def test_what_could_never_end_is_refused(prompt_len, max_new_tokens, message):
    scheduler = a_scheduler(num_blocks=8)
    with pytest.raises(ValueError, match=message):
        scheduler.add(a_request(0, prompt_len, max_new_tokens))
    assert not scheduler.waiting


@pytest.mark.parametrize("seed", range(20))
def test_random_traffic_always_ends(seed):
    """Whatever comes and goes: limits hold in every step, no block is in two tables, all requests end."""
    draw = random.Random(seed)
    limits = {
        "num_blocks": draw.randint(12, 30), "block_size": draw.randint(1, 5),
        "max_num_seqs": draw.randint(1, 6), "max_num_batched_tokens": draw.randint(1, 12),
    }  # fmt: skip
    scheduler = a_scheduler(**limits)
    room = scheduler.usable_blocks * scheduler.block_size
    requests, steps = [], 0
    while len(requests) < 15 or any(request.finish_reason is None for request in requests):
        if len(requests) < 15 and draw.random() < 0.4:
            prompt_len = draw.randint(1, min(room - 1, 25))
            new = a_request(len(requests), prompt_len, draw.randint(1, min(15, room - prompt_len)))
            scheduler.add(new)
            requests.append(new)
        if draw.random() < 0.05 and requests:
            scheduler.finish(draw.choice(requests), "abort")
        batch = step(scheduler)
        assert len(batch) <= limits["max_num_seqs"] and sum(n for _, n in batch) <= limits["max_num_batched_tokens"]
        assert all(n >= 1 for _, n in batch)
        blocks = [block for request in scheduler.running for block in request.blocks]
        assert 0 not in blocks and len(blocks) == len(set(blocks))
        assert len(blocks) + scheduler.pool.num_free() == scheduler.usable_blocks
        assert all(r.computed <= len(r.blocks) * scheduler.block_size for r in scheduler.running)
        steps += 1
        assert steps < 3000
    for request in requests:
        if request.finish_reason == "length":
            assert len(request.new_tokens) == request.params.max_new_tokens
    assert scheduler.pool.num_free() == scheduler.usable_blocks
