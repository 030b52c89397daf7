import io
import math
import subprocess
import sys
from dataclasses import asdict

import numpy as np
import pytest
import torch
from small_run import small_config

from lmcourse.errors import CourseError
from lmcourse.trainer import resume_run, start_run
from lmcourse.trainer.checkpoint import load_checkpoint
from lmcourse.trainer.log import read_log

CODE = """
import sys, torch
torch.set_num_threads(1)
from lmcourse.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


def contents(run):
    return load_checkpoint(run, lambda line: pytest.fail(line))


def assert_equal_to_the_bit(one, two, place=""):
    assert type(one) is type(two), place
    if isinstance(one, dict):
        assert list(one) == list(two), place
        for key in one:
            assert_equal_to_the_bit(one[key], two[key], f"{place}/{key}")
    elif isinstance(one, list | tuple):
        assert len(one) == len(two), place
        for index, (a, b) in enumerate(zip(one, two, strict=True)):
            assert_equal_to_the_bit(a, b, f"{place}/{index}")
    elif isinstance(one, torch.Tensor):
        assert one.dtype == two.dtype and torch.equal(one, two), place
    else:
        assert one == two, place


def without_times(record) -> dict:
    return {k: v for k, v in asdict(record).items() if k not in ("seconds", "tokens_per_second")}


def assert_same_run(one, two):
    assert_equal_to_the_bit(contents(one), contents(two))
    assert [without_times(r) for r in read_log(one)] == [without_times(r) for r in read_log(two)]


def test_ten_and_ten_in_a_new_process_are_twenty_to_the_bit(stopped_run, tmp_path, quiet):
    """AdamW, float32, dropout, accumulation, an epoch end and an evaluation in between."""
    subprocess.run(
        [sys.executable, "-c", CODE, "train", "--resume", str(stopped_run)],
        check=True,
        stdout=subprocess.PIPE,
    )
    straight = start_run(small_config(), tmp_path / "straight", stream=quiet)
    assert_same_run(stopped_run, tmp_path / "straight")
    assert straight.state.step == 20


@pytest.mark.parametrize("changes", [{"batches": "windows"}, {"batches": "windows", "mask": False}])
def test_two_resumes_in_a_row_equal_one_run(tmp_path, quiet, changes):
    config = small_config(**changes)
    start_run(config, tmp_path / "parts", stop_at=4, stream=quiet)
    resume_run(tmp_path / "parts", stop_at=13, stream=quiet)
    resume_run(tmp_path / "parts", stream=quiet)
    start_run(config, tmp_path / "straight", stream=quiet)
    assert_same_run(tmp_path / "parts", tmp_path / "straight")


def test_evaluation_does_not_change_the_training(tmp_path, quiet):
    start_run(small_config(evaluate_every=1), tmp_path / "often", stream=quiet)
    start_run(small_config(evaluate_every=1000), tmp_path / "once", stream=quiet)
    often, once = contents(tmp_path / "often"), contents(tmp_path / "once")
    assert_equal_to_the_bit(often["model.pt"], once["model.pt"])
    assert_equal_to_the_bit(often["optimizer.pt"], once["optimizer.pt"])


def test_a_run_leaves_the_global_generators_alone(tmp_path, quiet):
    torch.manual_seed(5)
    before, numpy_before = torch.get_rng_state(), np.random.get_state()[1].copy()
    start_run(small_config(steps=3), tmp_path / "run", stream=quiet)
    assert torch.equal(before, torch.get_rng_state())
    assert (numpy_before == np.random.get_state()[1]).all()


@pytest.mark.parametrize("micro_batches", [1, 4])
def test_the_rate_of_each_step_is_that_of_the_schedule(tmp_path, quiet, micro_batches):
    """Over a resume in the decay, and however many micro-batches a step has."""
    config = small_config(micro_batches=micro_batches)
    start_run(config, tmp_path / "run", stop_at=10, stream=quiet)
    resume_run(tmp_path / "run", stream=quiet)
    rates = [record.learning_rate for record in read_log(tmp_path / "run")]
    by_hand = [3e-3 * (step + 1) / 3 for step in range(3)]
    by_hand += [3e-3 * (0.55 + 0.45 * math.cos(math.pi * step / 17)) for step in range(17)]
    assert rates == pytest.approx(by_hand, rel=1e-12)


def test_tokens_seen_is_the_sum_of_what_counted(stopped_run, quiet):
    resume_run(stopped_run, stream=quiet)
    records = read_log(stopped_run)
    assert [r.tokens_seen for r in records] == np.cumsum([r.tokens for r in records]).tolist()


def test_log_lines_after_the_checkpoint_are_written_anew(stopped_run, quiet):
    """A process killed at step 12 has logged steps that its last checkpoint, of step 10, does not know."""
    log = stopped_run / "log.jsonl"
    lines = log.read_text().splitlines()
    later = lines[-1].replace('"step": 10', '"step": 11').replace('"batch": 10', '"batch": 11')
    log.write_text("\n".join([*lines, later, '{"step": 12, "lo']))
    resume_run(stopped_run, stream=quiet)
    assert [r.step for r in read_log(stopped_run)] == list(range(1, 21))
    assert len((stopped_run / "log.csv").read_text().splitlines()) == 21


def test_a_changed_thread_count_is_said(stopped_run):
    torch.set_num_threads(2)
    stream = io.StringIO()
    resume_run(stopped_run, stop_at=11, stream=stream)
    assert "threads was 1 and is 2" in stream.getvalue()


def test_a_complete_run_has_nothing_to_resume(tmp_path, quiet):
    start_run(small_config(steps=2), tmp_path / "run", stream=quiet)
    with pytest.raises(CourseError, match=r"complete \(2 of 2 steps\)"):
        resume_run(tmp_path / "run", stream=quiet)


@pytest.mark.parametrize("past", [0, 5])
def test_a_stop_that_lies_behind_is_named(stopped_run, quiet, past):
    step = resume_run(stopped_run, stop_at=12, stream=quiet).state.step
    with pytest.raises(CourseError, match="at step 12 already"):
        resume_run(stopped_run, stop_at=step - past, stream=quiet)


def test_other_data_or_settings_are_refused(stopped_run, quiet):
    config = stopped_run / "config.json"
    saved = config.read_text()
    config.write_text(saved.replace('"clip": 1.0', '"clip": 2.0'))
    with pytest.raises(CourseError, match="differs from the configuration in the checkpoint"):
        resume_run(stopped_run, stream=quiet)
    config.write_text(saved)
    tokens = stopped_run / "data" / "train.tokens"
    raw = bytearray(tokens.read_bytes())
    raw[-2] ^= 1
    tokens.write_bytes(raw)
    with pytest.raises(CourseError, match=r"train\.tokens: damaged"):
        resume_run(stopped_run, stream=quiet)


@pytest.mark.parametrize("name", ["train.tokens", "validation.tokens", "oracle.npy"])
def test_one_other_value_in_the_data_is_refused(stopped_run, quiet, name):
    """Also a value that is possible: an id of the vocabulary, or another number of the oracle."""
    path = stopped_run / "data" / name
    raw = bytearray(path.read_bytes())
    raw[-8:] = raw[-16:-8] if raw[-16:-8] != raw[-8:] else raw[-24:-16]
    assert raw != path.read_bytes()
    path.write_bytes(raw)
    with pytest.raises(CourseError, match=r"changed since it began|damaged"):
        resume_run(stopped_run, stream=quiet)


def test_a_folder_that_is_no_run_is_named(tmp_path, quiet):
    with pytest.raises(CourseError, match="not the folder of a run"):
        resume_run(tmp_path, stream=quiet)
    (tmp_path / "file").write_text("x")
    with pytest.raises(CourseError, match="exists already"):
        start_run(small_config(), tmp_path, stream=quiet)
