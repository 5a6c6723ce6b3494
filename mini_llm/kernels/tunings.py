"""How the kernels are cut on the GPU that the course measured on, found by `bench/tune_kernels.py`.

Nothing is searched for at run time: a search during capture would end up in the graph, and one before it
would cost every start its time.
"""

from mini_llm.kernels.decode_attention import MAX_SPLITS
from mini_llm.kernels.products import Tiling, default_tiling

FUSED_ROWS = 4  # batches up to this size run the fused products, larger ones cuBLAS

# The products of Qwen3-0.6B by (outputs, K): up to so many rows -> tiling. NVIDIA H200, torch 2.11, Triton 3.6.
MEASURED: dict[tuple[int, int], dict[int, Tiling]] = {
    (4096, 1024): {4: Tiling(4, 1)},  # qkv
    (1024, 2048): {1: Tiling(2, 4), 4: Tiling(4, 2)},  # o
    (3072, 1024): {1: Tiling(2, 1), 2: Tiling(8, 4), 4: Tiling(2, 1)},  # gate and up
    (1024, 3072): {4: Tiling(4, 4)},  # down
    (151936, 1024): {1: Tiling(4, 4), 4: Tiling(4, 1)},  # output layer
}


def tiling_for(M: int, N: int, K: int) -> Tiling:
    """For a product of M rows with N outputs (pairs of outputs where it is gated) and sums over K."""
    for rows, tiling in MEASURED.get((N, K), {}).items():
        if M <= rows:
            return tiling
    return default_tiling(K)


def attention_for(kv_heads: int) -> dict:
    """How attention is cut, for so many KV heads of all requests together: see `decode_attention`.

    Few heads share their keys among more programs. Many heads fill the GPU, and do so better with small ones.
    """
    if kv_heads <= 32:
        programs, keys, num_warps = 128, 128, 8
    else:
        programs, keys, num_warps = 256, 64 if kv_heads < 1024 else 32, 4
    splits = max(1, min(MAX_SPLITS, programs // kv_heads))
    return {"splits": 1 << (splits.bit_length() - 1), "keys": keys, "num_warps": num_warps}
