"""Every test here takes `device` and runs twice: on the tape, and on CUDA where there is a GPU.

What passes on both is a rule that the course may teach on a laptop. Needs torch, pytest and mini_llm only.
"""

import pytest
import torch

from mini_llm.graphs import capture

GPUS = [pytest.param("cuda", marks=pytest.mark.gpu)] if torch.cuda.is_available() else []


@pytest.fixture(params=["cpu", *GPUS])
def device(request):
    torch.manual_seed(0)
    return torch.device(request.param)


@pytest.fixture
def still_usable(device):
    """Call it after something went wrong: other graphs replay, new ones are captured, random numbers flow.

    The graph it checks was captured before, in the pool that the test used for what went wrong.
    """
    x = torch.ones(3, device=device)
    before = capture(lambda x: (x @ torch.ones(3, 3, device=device)) + torch.rand(3, device=device), x)

    def check():
        x.fill_(2)
        torch.manual_seed(7)
        eager = x @ torch.ones(3, 3, device=device) + torch.rand(3, device=device)
        torch.manual_seed(7)
        torch.testing.assert_close(before.replay(), eager)

        after = capture(lambda x: x * 3 + torch.rand(3, device=device), x, pool=before.pool)
        x.fill_(4)
        torch.manual_seed(8)
        drawn = torch.rand(3, device=device)
        torch.manual_seed(8)
        torch.testing.assert_close(after.replay(), 12 + drawn)
        torch.testing.assert_close(capture(lambda x: x + 1, x).replay(), x + 1)

    check.pool = before.pool
    return check
