"""What all kernels of the final rung share: Triton, or a stand-in; when kernels run; dependent launch.

Every operation here has two forms. The plain one, in PyTorch, says what the operation is. The Triton one is
what a GPU runs. Where Triton is missing the plain form still works, so this package imports anywhere.
"""

from functools import lru_cache

import torch

from mini_llm import kernels

try:
    import triton
    import triton.language as tl
    from triton.language.extra.cuda import gdc_launch_dependents, gdc_wait

    HAS_TRITON = True
except ImportError:
    HAS_TRITON = False

    class _NoTriton:
        """Takes the place of everything that a kernel's definition names; fails only when one is launched."""

        def __getattr__(self, name):
            return self

        def __call__(self, *args, **kwargs):
            return self

        def __getitem__(self, grid):
            raise RuntimeError("this needs Triton: pip install triton")

    triton = tl = gdc_launch_dependents = gdc_wait = _NoTriton()


def runs_kernels(tensor: torch.Tensor) -> bool:
    """Whether an operation on `tensor` launches its kernel; otherwise it takes the plain form.

    A launch is no operator: a tape that records on a CPU would not see it, so it gets the plain form.
    """
    recorded = torch._C._len_torch_dispatch_stack() > 0
    return HAS_TRITON and (tensor.is_cuda or (kernels.INTERPRETED and not recorded))


@lru_cache
def has_dependent_launch(device: torch.device) -> bool:
    """Hopper GPUs and later can start a kernel while the one before it is still running."""
    return device.type == "cuda" and torch.cuda.get_device_capability(device) >= (9, 0)


def options(pdl: bool, num_warps: int, num_stages: int = 3) -> dict:
    """Launch options of a kernel; `pdl`: it may start before the one before has ended, see `inputs_ready`."""
    options = {"num_warps": num_warps, "num_stages": num_stages}
    if pdl:  # the interpreter does not know the word
        options["launch_pdl"] = True
    return options


@triton.jit
def inputs_ready(PDL: tl.constexpr):
    """What stands above this line ran while the kernel before was still at work; below, its results are there.

    Programmatic dependent launch. A kernel that was launched this way starts early. Until here it may read
    weights, which no kernel writes, the cache of earlier steps and the step's inputs, but nothing that a kernel
    of this step has written; and it may write nothing. `gdc_wait` returns when the kernel before has ended and
    its writes can be seen. As that one waited in its turn, so have all before.

    `gdc_launch_dependents` lets the next kernel start as soon as there is room. It comes after this kernel's own
    loads: called first, it would send the next kernel's loads ahead of them (measured: 8 to 15% slower).
    """
    if PDL:
        gdc_launch_dependents()
        gdc_wait()
