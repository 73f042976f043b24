"""What the tests of the stacks share."""

import pytest
import torch


@pytest.fixture(autouse=True)
def one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Models this small gain nothing from a second thread, and on a busy machine the threads wait
    for each other."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")  # for the workers of a run
    torch.set_num_threads(1)
