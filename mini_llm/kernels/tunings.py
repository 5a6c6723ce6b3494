"""Tilings found by `bench/tune_kernels.py`, looked up by shape. Nothing is searched for at run time.

A search during capture would end up in the graph, and a search before it would cost minutes of every start.
"""

from mini_llm.kernels.products import Tiling, default_tiling

FUSED_ROWS = 16  # batches up to this size run the fused products, larger ones cuBLAS

# (outputs, K): rows -> tiling. Entries hold up to that many rows.
MEASURED: dict[tuple[int, int], dict[int, Tiling]] = {}


def tiling_for(M: int, N: int, K: int, gated: bool = False) -> Tiling:
    """For a product of M rows with N outputs (gated: N pairs of them) and sums over K."""
    for rows, tiling in MEASURED.get((N, K), {}).items():
        if M <= rows:
            return tiling
    return default_tiling(M)
