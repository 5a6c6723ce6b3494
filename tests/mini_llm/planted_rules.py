"""The rules of capture, broken one at a time in the tape or around it; each check comes from the conformance suite
or from the tape's own tests. Adds to `planted_faults.FAULTS`.
"""

import threading
from contextlib import nullcontext

import pytest
import test_tape
import torch
from conformance import test_pool, test_refusals, test_replay
from planted_faults import fault

from mini_llm import capture_rules, graphs, tape
from mini_llm.tape import Tape, TapePool


@fault("pytorch 170604: a captured step hands out its memory", test_replay.test_a_captured_step_takes_new_tensors)
def _(monkeypatch):
    def call(self, *inputs):
        graphs.copy_in(self.buffers, inputs)
        return self.graph.replay()

    monkeypatch.setattr(graphs.CapturedStep, "__call__", call)


@fault("pytorch 161037: garbage collection", test_refusals.test_no_garbage_is_collected_during_a_capture)
def _(monkeypatch):
    monkeypatch.setattr(graphs, "_no_garbage_collection", nullcontext)


def host_reads_are_refused(device):
    for step in (*test_refusals.REFUSED.values(), *test_refusals.BY_INDEX.values(), *test_tape.TAPE_ONLY.values()):
        with pytest.raises(capture_rules.CaptureError):
            graphs.capture(step, torch.arange(4.0, device=device) + 1, warmup=0)


@fault("pytorch 78549: .item(), nonzero and masks are recorded", host_reads_are_refused)
def _(monkeypatch):
    monkeypatch.setattr(capture_rules, "broken_rule", lambda *args: None)


@fault("pytorch 78549: host reads that call no operator", host_reads_are_refused)
def _(monkeypatch):
    monkeypatch.setattr(capture_rules, "HOST_READS", set())


@fault("pytorch 84614: the seed is ignored on replay", test_pool.test_replays_draw_what_eager_code_would_draw)
def _(monkeypatch):
    whole = Tape.replay

    def replay(self):
        outside = torch.get_rng_state()
        torch.manual_seed(11)
        whole(self)
        torch.set_rng_state(outside)

    monkeypatch.setattr(Tape, "replay", replay)


@fault("every replay draws the same", test_pool.test_random_numbers_advance_from_replay_to_replay)
def _(monkeypatch):
    whole = Tape.replay

    def replay(self):
        torch.manual_seed(11)
        whole(self)

    monkeypatch.setattr(Tape, "replay", replay)


@fault("recording draws random numbers", test_pool.test_replays_draw_what_eager_code_would_draw)
def _(monkeypatch):
    whole = Tape.record

    def record(self, fn, inputs):
        output = whole(self, fn, inputs)
        torch.rand(64)
        return output

    monkeypatch.setattr(Tape, "record", record)


@fault("recording runs the step", test_replay.test_the_recording_runs_nothing)
def _(monkeypatch):
    monkeypatch.setattr(Tape, "_remember", lambda self, tensor: None)


@fault("names are recorded, not addresses", test_replay.test_memory_put_under_a_tensor_is_not_seen)
def _(monkeypatch):
    monkeypatch.setattr(TapePool, "fixed", lambda self, tensor: tensor)


@fault("t_() is replayed", test_replay.test_operators_that_change_only_a_tensors_shape, RuntimeError)
def _(monkeypatch):
    monkeypatch.setattr(TapePool, "fixed", lambda self, tensor: tensor)


@fault("results of a replay go elsewhere", test_replay.test_an_input_is_an_address_not_a_name)
def _(monkeypatch):
    monkeypatch.setattr(tape, "run_again", lambda call: call.func(*call.args, **call.kwargs))


@fault("what an operator changes in place is not replayed", test_replay.test_a_step_that_only_writes)
def _(monkeypatch):
    monkeypatch.setattr(tape, "written_tensors", lambda func, args, kwargs: [])


@fault("memory is lent twice", lambda device: test_tape.test_random_steps_replay_as_they_run(0), RuntimeError)
def _(monkeypatch):
    whole, last = TapePool.lend, []

    def lend(self, nbytes):
        if last and last[-1].nbytes() >= nbytes:
            return last[-1]
        last.append(whole(self, nbytes))
        return last[-1]

    monkeypatch.setattr(TapePool, "lend", lend)


@fault("memory is never given back", test_pool.test_a_shared_pool_holds_less_than_pools_of_their_own)
def _(monkeypatch):
    monkeypatch.setattr(TapePool, "_take_back", lambda pool, block: None)


@fault("any shape is copied in", lambda device: test_replay.test_a_captured_step_refuses_another_shape(device, [1.0]))
def _(monkeypatch):
    def copy_in(buffers, values):
        for buffer, value in zip(buffers, values, strict=True):
            buffer.copy_(value)

    monkeypatch.setattr(graphs, "copy_in", copy_in)


@fault("no warm-up", test_pool.test_warm_up_runs_on_the_stream_that_is_captured)
def _(monkeypatch):
    monkeypatch.setattr(graphs, "warm_up", lambda *args: None)


def a_failure_leaves_captures_possible(device):
    with pytest.raises(ZeroDivisionError):
        graphs.capture(lambda: 1 / 0, device=device)
    graphs.capture(lambda: torch.ones(1, device=device), device=device)


@fault("a failed capture is never over", a_failure_leaves_captures_possible, capture_rules.CaptureError)
def _(monkeypatch):
    class Once:
        def __enter__(self):
            if not graphs._capture_lock.acquire(blocking=False):
                raise capture_rules.CaptureError("a capture is under way already")

        def __exit__(self, kind, error, trace):
            if kind is None:
                graphs._capture_lock.release()

    monkeypatch.setattr(graphs, "_capture_lock", threading.Lock())
    monkeypatch.setattr(graphs, "_only_capture", Once)


def compiled_code_survives(device):
    runs = []
    torch._dynamo.reset()
    fast = torch.compile(lambda x: x + 1, backend=lambda module, _: lambda *args: (runs.append(1), module(*args))[1])
    graphs.capture(fast, torch.ones(3), warmup=1)
    with torch.no_grad():
        fast(torch.ones(3))
    torch._dynamo.reset()
    assert len(runs) == 2


@fault("pytorch 190286: compiled code is given up", compiled_code_survives)
def _(monkeypatch):
    monkeypatch.setattr(torch.compiler, "set_stance", lambda stance: nullcontext())
