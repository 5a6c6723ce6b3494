"""The paged attention kernel against its definition in fp64."""

import random

import pytest
import torch

from mini_llm import PagedKVCache, slot_mapping_for

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def expected_attention(q, kv, tables, seq_lens, bounds):
    """In fp64, one query and one head after another. Rows after the last request are zeros."""
    out = torch.zeros(q.shape, dtype=torch.float64)
    for r, (table, seq_len) in enumerate(zip(tables, seq_lens, strict=True)):
        keys, values = (part.double().cpu() for part in kv.gather(0, table, seq_len))
        for row in range(bounds[r], bounds[r + 1]):
            seen = seq_len - (bounds[r + 1] - 1 - row)
            for head in range(q.shape[1] if seen > 0 else 0):
                kv_head = head // (q.shape[1] // keys.shape[1])
                scores = keys[:seen, kv_head] @ q[row, head].double().cpu() / q.shape[2] ** 0.5
                out[row, head] = scores.softmax(0) @ values[:seen, kv_head]
    return out


class Case:
    """Requests of given lengths on scattered blocks; what belongs to none of them is nan."""

    def __init__(self, seq_lens, heads=(3, 1, 32), block_size=16, dtype=torch.float32, width=0, seed=0):
        self.nh, nkv, hd = heads
        rng = random.Random(seed)
        torch.manual_seed(seed)
        need = [-(-length // block_size) for length in seq_lens]
        blocks = list(range(1, sum(need) + 2))
        rng.shuffle(blocks)
        self.kv = PagedKVCache(1, len(blocks) + 1, block_size, nkv, hd, dtype, DEVICE)
        self.kv.k[0].fill_(float("nan")), self.kv.v[0].fill_(float("nan"))
        self.tables = [[blocks.pop() for _ in range(n)] for n in need]
        for table, length in zip(self.tables, seq_lens, strict=True):
            slots = torch.tensor(slot_mapping_for(table, range(length), block_size), dtype=torch.long, device=DEVICE)
            self.kv.write(0, slots, *torch.randn(2, length, nkv, hd, device=DEVICE))
        self.seq_lens, self.hd, self.dtype = list(seq_lens), hd, dtype
        width = max(width, *need, 1)
        self.block_table = torch.tensor([t + [0] * (width - len(t)) for t in self.tables], device=DEVICE)

    def queries(self, n):
        return torch.randn(n, self.nh, self.hd, device=DEVICE).to(self.dtype)

    def run(self, q, **options):
        from mini_llm.kernels.paged_decode import paged_decode

        lengths = torch.tensor(self.seq_lens, device=DEVICE)
        return paged_decode(q, self.kv.k[0], self.kv.v[0], self.block_table, lengths, **options)

    def error(self, q, bounds, **options):
        """Largest difference; nan stays nan, and is no small number."""
        out = self.run(q, **options)
        assert out.shape == q.shape and out.dtype == q.dtype
        expected = expected_attention(q, self.kv, self.tables, self.seq_lens, bounds)
        return (out.double().cpu() - expected).abs().max()


# splits: one program sees all keys; some have none; the last one has a few; more splits than tiles
@pytest.mark.parametrize("splits", [1, 2, 4, 16])
def test_every_split_gives_the_same(splits):
    case = Case([1, 16, 17, 63, 64, 65, 128, 200, 0])
    assert case.error(case.queries(9), range(10), query_len=1, num_splits=splits) <= 1e-5


@pytest.mark.parametrize("heads", [(1, 1, 16), (14, 2, 64), (3, 3, 24), (32, 1, 80)], ids=str)
def test_groups_and_head_sizes(heads):
    case = Case([1, 70, 33], heads, block_size=4)
    for splits in (1, 2):
        assert case.error(case.queries(3), range(4), query_len=1, num_splits=splits) <= 1e-5


@pytest.mark.parametrize("dtype, tolerance", [(torch.bfloat16, 2e-2), (torch.float16, 3e-3)], ids=str)
def test_half_precision(dtype, tolerance):
    case = Case([1, 70, 200], dtype=dtype)
    for splits in (1, 4):
        assert case.error(case.queries(3), range(4), query_len=1, num_splits=splits) <= tolerance


def test_several_tokens_per_request_see_one_another_s_keys_in_order():
    case = Case([3, 64, 67, 0, 1])  # the last two are padding: the three rows of each see one key at most
    for splits in (1, 2):
        assert case.error(case.queries(15), range(0, 16, 3), query_len=3, num_splits=splits) <= 1e-5


def test_any_batch_by_its_bounds():
    """Bounds read from memory: prefill, decode, padded requests and padded rows at once."""
    for lengths, new, rows in (([70, 9, 5, 0, 0], [1, 4, 5, 0, 0], 16), ([8], [8], 8), ([4, 4], [1, 1], 2)):
        case = Case(lengths)
        bounds = [sum(new[:r]) for r in range(len(new) + 1)]
        on_device = torch.tensor(bounds, device=DEVICE)
        for splits in (1, 2):
            options = dict(query_start_loc=on_device, num_splits=splits)
            assert case.error(case.queries(rows), bounds, **options) <= 1e-5


def test_queries_may_be_part_of_a_wider_tensor():
    case = Case([1, 70])
    wide = torch.randn(2, 3 * case.nh, case.hd, device=DEVICE)
    for splits in (1, 2):
        assert case.error(wide[:, case.nh : 2 * case.nh], range(3), query_len=1, num_splits=splits) <= 1e-5


def test_large_scores_do_not_overflow():
    case = Case([200, 3], dtype=torch.float16)
    q = case.queries(2) * 300
    for splits in (1, 4):
        assert case.error(q, range(3), query_len=1, num_splits=splits) <= 3e-3


@pytest.mark.gpu
@pytest.mark.skipif(DEVICE == "cpu", reason="needs a CUDA device")
def test_sageattention_371_the_kernel_runs_on_the_captured_stream():
    """A launch on another stream would be missing from the graph: replays would not change the output."""
    from mini_llm.graphs import capture
    from mini_llm.kernels.paged_decode import paged_decode

    case = Case([300, 7, 64, 1], width=40)
    lengths, q = torch.zeros(4, dtype=torch.long, device=DEVICE), case.queries(4)
    args = case.kv.k[0], case.kv.v[0], case.block_table, lengths
    graph = capture(lambda q: paged_decode(q, *args, query_len=1), q)
    assert not graph.replay().any()
    for seed in range(3):
        torch.manual_seed(seed)
        q.copy_(case.queries(4))
        case.seq_lens = [300 - seed, 7 - seed, 64 - seed, 1]
        lengths.copy_(torch.tensor(case.seq_lens))
        expected = expected_attention(q, case.kv, case.tables, case.seq_lens, range(5))
        assert (graph.replay().double().cpu() - expected).abs().max() <= 1e-5


def test_a_compiler_sees_one_operator():
    from mini_llm.kernels.paged_decode import _paged_decode

    case = Case([3, 4])
    lengths = torch.tensor(case.seq_lens, device=DEVICE)
    args = case.queries(2), case.kv.k[0], case.kv.v[0], case.block_table, lengths, lengths, 1, 1
    torch.library.opcheck(_paged_decode, args, test_utils=("test_schema", "test_faketensor"))
