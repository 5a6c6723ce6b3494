"""Find the layer where two engines part, and name the cause from the evidence."""

import torch

from mini_llm.divergence import diverging_rows, first_divergence, name_cause

NOTHING = (torch.zeros(4, 2),) * 2
LAYER = torch.tensor([[1.0, -8.0], [0.5, 0.25], [3.0, 3.0]])


def changed(row, column, by):
    layer = LAYER.clone()
    layer[row, column] += by
    return layer


def cause(other, before=NOTHING, slots=(5, 10, 12, -1), tables=((1, 0), (2, 3)), starts=(0, 1, 3)):
    padded = [torch.cat([each, torch.full((1, 2), 7.0)]) for each in other]
    return name_cause([LAYER, LAYER], padded, before, slots, starts, tables, 4)


def test_rounding_is_relative_to_the_row_and_to_the_coarser_dtype():
    assert diverging_rows(LAYER, changed(0, 0, 1e-5)) == []  # beside 8
    assert diverging_rows(LAYER, changed(1, 0, 1e-5)) == [1]  # beside 0.5
    assert diverging_rows(LAYER, changed(1, 0, 0.01).bfloat16()) == []
    assert diverging_rows(LAYER.bfloat16(), changed(1, 0, 0.2)) == [1]


def test_vllm_55238_rounding_only_is_no_divergence():
    assert first_divergence([LAYER, LAYER], [LAYER, changed(0, 0, 1e-6)]) is None
    assert cause([LAYER, changed(0, 0, 1e-6)]) == "rounding" and cause([LAYER, LAYER]) == "same"


def test_the_first_layer_counts_and_nan_is_a_divergence():
    assert first_divergence([LAYER] * 3, [LAYER, changed(2, 0, 0.1), changed(0, 0, 99.0)]) == 1
    assert first_divergence([LAYER, LAYER], [changed(1, 1, float("nan")), LAYER]) == 0


def test_a_stale_buffer_shows_the_step_before_to_the_bit():
    now, before = changed(2, 0, 5.0), torch.zeros(3, 2)
    before[2] = now[2]
    assert cause([now, LAYER], before=(before, before)) == "stale buffer"
    before[2, 0] += 1e-3
    assert cause([now, LAYER], before=(before, before)) == "unknown"


def test_vllm_43810_padding_explains_the_rows_of_the_block_it_wrote_to_and_no_others():
    wrong = [LAYER, changed(1, 0, 1.0)]  # a row of the second request, which has the blocks 2 and 3
    assert cause(wrong, slots=(5, 10, 11, 15)) == "padding in a live block"
    assert cause(wrong, slots=(5, 10, 11, 6)) == "unknown"  # block 1 is the first request's
    assert cause(wrong, slots=(5, 10, 11, 1)) == "unknown"  # the null block
    assert cause([LAYER, changed(0, 0, 1.0) + changed(1, 0, 1.0) - LAYER], slots=(5, 10, 11, 15)) == "unknown"


def test_a_block_may_have_several_owners():
    shared = dict(tables=((3, 1), (3, 2)), slots=(5, 10, 11, 12))
    assert cause([LAYER + 1, LAYER], **shared) == "padding in a live block"
