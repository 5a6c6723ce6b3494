"""What cannot be recorded is refused, the call is named, and everything goes on working."""

import gc

import pytest
import torch

from mini_llm.capture_rules import CaptureError
from mini_llm.graphs import capture

# what a step does -> the name that the error must give it
REFUSED = {
    "Tensor.item": lambda x: x * x.sum().item(),
    "Tensor.__bool__": lambda x: x * 2 if x.sum() > 0 else x,
    "Tensor.__int__": lambda x: x[: int(x[0])],
    "Tensor.__float__": lambda x: x * float(x[0]),
    "Tensor.tolist": lambda x: x * len(x.tolist()),
    "Tensor.cpu": lambda x: x * float(x.cpu().numpy()[0]),
    "Tensor.__repr__": lambda x: (str(x), x)[1],
    "Tensor.__format__": lambda x: (f"{x[0]:.2f}", x)[1],
    "Tensor.__contains__": lambda x: x * (1.0 in x),
    "Tensor.nonzero": lambda x: x.nonzero(),
    "torch.masked_select": lambda x: torch.masked_select(x, x > 1),
    "torch.functional.unique": lambda x: torch.unique(x),
    "torch.bincount": lambda x: torch.bincount(x.long()),
    "torch.equal": lambda x: x * torch.equal(x, x + 0),  # a tensor and itself are equal without a read
    "torch.allclose": lambda x: x * torch.allclose(x, x),
    "torch.nn.functional.one_hot": lambda x: torch.nn.functional.one_hot(x.long()),
    "Tensor.repeat_interleave": lambda x: x.repeat_interleave(x.long()),
    "torch.tensor": lambda x: x + torch.tensor([1.0, 2.0, 3.0], device=x.device),
}
BY_INDEX = {"a mask": lambda x: x[x > 1], "a number in a tensor": lambda x: x[: x.long()[0]]}


def write_by_mask(x):
    x[x > 1] = torch.ones(2, device=x.device)


@pytest.mark.parametrize("operator", REFUSED)
def test_host_reads_and_shapes_made_of_values_are_refused_by_name(device, operator, still_usable):
    x = torch.arange(3.0, device=device) + 1
    with pytest.raises(CaptureError, match="replay") as refused:
        capture(REFUSED[operator], x, pool=still_usable.pool)
    assert refused.value.operator == operator
    assert str(refused.value).startswith(operator)
    still_usable()


@pytest.mark.parametrize("how", BY_INDEX)
def test_indices_that_the_host_has_to_read_are_refused(device, how, still_usable):
    with pytest.raises(CaptureError) as refused:
        capture(BY_INDEX[how], torch.arange(3.0, device=device), pool=still_usable.pool)
    assert refused.value.operator == "Tensor.__getitem__"
    still_usable()


def test_writing_by_mask_is_refused_and_masked_fill_is_not(device, still_usable):
    with pytest.raises(CaptureError) as refused:
        capture(write_by_mask, torch.arange(4.0, device=device), warmup=0)
    assert refused.value.operator == "Tensor.__setitem__"
    x = torch.arange(4.0, device=device)
    assert capture(lambda x: x.masked_fill_(x > 1, 0.0), x, warmup=0).replay().tolist() == [0, 1, 0, 0]
    still_usable()


def test_a_host_read_is_fine_in_warm_up_and_after_a_replay(device):
    x, runs = torch.ones(3, device=device), []

    def step(x):
        runs.append(len(runs))
        return x * (x.sum().item() if len(runs) <= 2 else 5)

    assert capture(step, x, warmup=2).replay().sum().item() == 15
    assert runs == [0, 1, 2]


def test_an_error_of_the_step_itself_comes_out_as_it_is(device, still_usable):
    def step(x):
        y = x * torch.rand(3, device=device)
        raise ZeroDivisionError("mine", y.shape)

    with pytest.raises(ZeroDivisionError, match="mine"):
        capture(step, torch.ones(3, device=device), warmup=0, pool=still_usable.pool)
    still_usable()

    with pytest.raises(RuntimeError, match="size of tensor") as wrong_shape:
        capture(lambda x: x + x[:2], torch.ones(3, device=device), warmup=0, pool=still_usable.pool)
    assert not isinstance(wrong_shape.value, CaptureError)
    still_usable()


def test_what_a_failed_capture_changed_in_place_is_as_before(device):
    counter = torch.zeros(1, device=device)

    def step(x):
        counter.add_(1)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        capture(step, torch.ones(3, device=device), warmup=0)
    assert counter.item() == 0


def test_a_capture_inside_a_capture_is_refused_and_the_outer_one_goes_on(device, still_usable):
    x = torch.ones(3, device=device)
    refused = []

    def step(x):
        y = x * 2
        try:
            capture(lambda x: x + 1, x, warmup=0)
        except CaptureError as error:
            refused.append(str(error))
        return y + 1

    graph = capture(step, x, warmup=0)
    assert "inside another" in refused[0]
    x.fill_(5)
    assert graph.replay().tolist() == [11, 11, 11]

    with pytest.raises(CaptureError, match="inside another"):
        capture(lambda x: capture(lambda x: x, x), x)
    still_usable()


def test_a_replay_inside_a_capture_is_refused(device, still_usable):
    x = torch.ones(3, device=device)
    inner = capture(lambda x: x + 1, x)
    with pytest.raises(CaptureError, match="cannot be replayed"):
        capture(lambda x: inner.replay() * 2, x, warmup=0)
    x.fill_(2)
    assert inner.replay().tolist() == [3, 3, 3]
    still_usable()


def test_no_garbage_is_collected_during_a_capture(device):
    """pytorch 161037: a graph collected during a capture breaks it."""
    collected, recording = [], []

    def watch(phase, info):
        collected.extend(recording)

    def step(x):
        recording.append("during the capture")
        for _ in range(3 * gc.get_threshold()[0]):
            ring = []
            ring.append(ring)
        recording.clear()
        return x + 1

    assert gc.isenabled()
    gc.callbacks.append(watch)
    try:
        capture(step, torch.ones(3, device=device), warmup=0)
        assert collected == []
        step(torch.ones(3, device=device))
        assert collected  # so the step does make enough garbage
    finally:
        gc.callbacks.remove(watch)
    assert gc.isenabled()


@pytest.mark.parametrize("mode", ["global", "thread_local", "relaxed"])
def test_every_capture_error_mode_captures(device, mode):
    x = torch.ones(3, device=device)
    assert capture(lambda x: x + 1, x, capture_error_mode=mode).replay().tolist() == [2, 2, 2]
    with pytest.raises(CaptureError):
        capture(lambda x: x * x.sum().item(), x, capture_error_mode=mode)


def test_wrong_arguments_are_named(device):
    x = torch.ones(3, device=device)
    with pytest.raises(ValueError, match="global, thread_local, relaxed, not 'strict'"):
        capture(lambda x: x, x, capture_error_mode="strict")
    with pytest.raises(ValueError, match="no tensor"):
        capture(lambda: torch.ones(3, device=device))
    with pytest.raises(ValueError, match="meta"):
        capture(lambda x: x, torch.ones(3, device="meta"))
    with pytest.raises(ValueError, match="cpu and meta|cuda:0 and meta"):
        capture(lambda x, y: x, x, torch.ones(3, device="meta"))
    assert capture(lambda: x + 1, device=device).replay().tolist() == [2, 2, 2]
