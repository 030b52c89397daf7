import io

import pytest
import torch
from small_run import small_config

from lmcourse.trainer import start_run


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def quiet() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def stopped_run(tmp_path, quiet):
    """A run of 20 steps that stopped after the tenth: checkpoints of steps 5 and 10."""
    start_run(small_config(), tmp_path / "run", stop_at=10, stream=quiet)
    return tmp_path / "run"
