import errno
import io
import os

import pytest
import torch

from lmcourse.errors import CourseError
from lmcourse.trainer import checkpoint, resume_run
from lmcourse.trainer.checkpoint import list_checkpoints, load_checkpoint, save_checkpoint


def contents(value: float):
    return {
        "model.pt": {"weight": torch.full((5,), value)},
        "optimizer.pt": {"state": {0: {"exp_avg": torch.ones(5)}}},
        "state.pt": {"step": int(value), "torch_rng": torch.get_rng_state(), "config": "{}"},
    }


def value_of(run) -> int:
    return load_checkpoint(run, lambda line: None)["state.pt"]["step"]


def test_round_trip_without_trusting_the_file(tmp_path):  # weights_only is never switched off
    saved = contents(3.0)
    save_checkpoint(tmp_path, 3, saved)
    loaded = load_checkpoint(tmp_path, pytest.fail)
    assert torch.equal(loaded["model.pt"]["weight"], saved["model.pt"]["weight"])
    assert torch.equal(loaded["state.pt"]["torch_rng"], saved["state.pt"]["torch_rng"])


def test_the_last_two_are_kept_and_the_pointer_moves(tmp_path):
    for step in (5, 10, 15):
        save_checkpoint(tmp_path, step, contents(step))
    assert [c.name for c in list_checkpoints(tmp_path)] == ["step_000010", "step_000015"]
    assert (tmp_path / "latest").read_text() == "step_000015"


class Fault:
    """Counts what a save asks of the operating system; fails at one of these moments, before or after it."""

    def __init__(self, monkeypatch, moment: int, error: BaseException, late: bool):
        self.calls, self.moment, self.error, self.late = 0, moment, error, late
        for name in ("fsync", "replace"):
            monkeypatch.setattr(os, name, self.failing(getattr(os, name)))
        monkeypatch.setattr(torch, "save", self.failing(torch.save))
        monkeypatch.setattr("builtins.open", self.failing(open))

    def failing(self, function):
        def call(*arguments, **options):
            self.calls += 1
            if self.calls != self.moment:
                return function(*arguments, **options)
            if self.late:
                function(*arguments, **options)
            raise self.error

        return call


class Killed(BaseException):
    """Stands for the end of the process: nothing but `finally` blocks runs after it."""


MOMENTS = range(1, 20)  # a save asks for 19 things, which the next test counts


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), Killed()], ids=repr)
def test_a_failure_at_any_moment_leaves_a_sound_checkpoint(tmp_path, moment, error, late):
    for step in (3, 5):
        save_checkpoint(tmp_path, step, contents(step))
    with pytest.MonkeyPatch.context() as patch:
        Fault(patch, moment, error, late)
        with pytest.raises(CourseError if isinstance(error, OSError) else Killed) as caught:
            save_checkpoint(tmp_path, 10, contents(10))
    if isinstance(error, OSError):
        assert "\n" not in str(caught.value)
        assert "No space left on device" in str(caught.value) and "untouched" in str(caught.value)
    renamed = (tmp_path / "checkpoints" / "step_000010").exists()
    pointed = (tmp_path / "latest").read_text() == "step_000010"
    assert value_of(tmp_path) == (10 if pointed else 5)
    assert renamed or not pointed
    assert (tmp_path / "checkpoints" / "step_000005").exists()
    assert not list(tmp_path.rglob("*.tmp-*"))
    save_checkpoint(tmp_path, 10, contents(10))
    assert value_of(tmp_path) == 10


def test_the_moments_above_are_all_there_are(tmp_path):
    for step in (3, 5):
        save_checkpoint(tmp_path, step, contents(step))
    with pytest.MonkeyPatch.context() as patch:
        fault = Fault(patch, 10**6, Killed(), late=False)
        save_checkpoint(tmp_path, 10, contents(10))
    assert fault.calls == MOMENTS[-1]


class FullDisk(io.RawIOBase):
    def __init__(self, file, room):
        self.file, self.room = file, room

    def write(self, data):
        self.room -= len(data)
        if self.room < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        return self.file.write(data)

    def flush(self):
        self.file.flush()

    def fileno(self):
        return self.file.fileno()


@pytest.mark.parametrize("room", [0, 100, 1000, 2500, 4000])
def test_a_disk_that_fills_up_in_the_middle_of_a_file(tmp_path, monkeypatch, room):
    save_checkpoint(tmp_path, 5, contents(5))
    left = [room]

    def small_disk(path, mode="r", *rest, **options):
        file = open_(path, mode, *rest, **options)
        return FullDisk(file, left[0]) if "w" in mode else file

    open_ = open
    monkeypatch.setattr("builtins.open", small_disk)
    with pytest.raises(CourseError, match=r"No space left on device.*earlier ones are untouched"):
        save_checkpoint(tmp_path, 10, contents(10))
    monkeypatch.undo()
    assert value_of(tmp_path) == 5 and not list(tmp_path.rglob("*.tmp-*"))


def test_what_is_kept(tmp_path):
    """The newest two, the best, the newest calm one, and whatever the caller still needs."""
    losses = {2: 1.5, 4: 0.5, 6: 0.9, 8: None, 10: float("nan"), 12: 0.6}
    for step, loss in losses.items():
        facts = {"validation_loss": loss, "calm": step <= 6}
        save_checkpoint(tmp_path, step, contents(step), facts, keep={2})
    assert [int(c.name[5:]) for c in list_checkpoints(tmp_path)] == [2, 4, 6, 10, 12]
    assert load_checkpoint(tmp_path, pytest.fail, lambda m: m["calm"])["state.pt"]["step"] == 6
    with pytest.raises(CourseError, match="none of those that are kept"):
        load_checkpoint(tmp_path, pytest.fail, lambda m: m["step"] == 8)


def test_a_reader_whose_checkpoint_goes_away_looks_again(tmp_path, monkeypatch):
    """The run that writes here saves while another process reads: what was read first is pruned then."""
    save_checkpoint(tmp_path, 5, contents(5))
    read = checkpoint._read

    def slow(folder, manifest):
        monkeypatch.setattr(checkpoint, "_read", read)
        for step in (10, 15, 20):
            save_checkpoint(tmp_path, step, contents(step), {"validation_loss": 1.0 / step})
        return read(folder, manifest)

    monkeypatch.setattr(checkpoint, "_read", slow)
    assert load_checkpoint(tmp_path, pytest.fail)["state.pt"]["step"] == 20


def test_steps_are_ordered_as_numbers(tmp_path):
    for step in (999_998, 999_999, 1_000_000, 1_000_001):
        save_checkpoint(tmp_path, step, contents(step))
        assert value_of(tmp_path) == step
    assert [c.name for c in list_checkpoints(tmp_path)] == ["step_1000000", "step_1000001"]
    (tmp_path / "latest").unlink()
    assert value_of(tmp_path) == 1_000_001


def test_a_process_killed_while_writing_leaves_no_checkpoint(tmp_path):
    save_checkpoint(tmp_path, 5, contents(5))
    partial = tmp_path / "checkpoints" / "step_000010.tmp-4711"
    partial.mkdir()
    (partial / "model.pt").write_bytes(b"half")
    assert value_of(tmp_path) == 5
    assert partial.exists()  # a reader cannot know whether its writer lives
    checkpoint.remove_partial_checkpoints(tmp_path)
    assert not partial.exists()


def damage_bit(path):
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 1
    path.write_bytes(raw)


@pytest.mark.parametrize("name", [*checkpoint.FILES, "manifest.json"])
@pytest.mark.parametrize(
    "damage",
    [damage_bit, lambda p: p.write_bytes(p.read_bytes()[:-3]), lambda p: p.write_bytes(b""), os.unlink],
)
def test_a_damaged_checkpoint_falls_back_to_the_one_before(tmp_path, name, damage):
    for step in (5, 10):
        save_checkpoint(tmp_path, step, contents(step))
    damage(tmp_path / "checkpoints" / "step_000010" / name)
    lines = []
    loaded = load_checkpoint(tmp_path, lines.append)
    if lines:
        assert loaded["state.pt"]["step"] == 5
        assert len(lines) == 1 and "step_000010 is damaged" in lines[0]
        assert lines[0].endswith("going back to step_000005") and "\n" not in lines[0]
    else:  # a bit of the manifest that says nothing, such as the step or a space
        assert name == "manifest.json" and loaded["state.pt"]["step"] == 10


def test_a_file_that_wants_to_run_code_is_damage(tmp_path):
    import hashlib
    import json
    import pickle

    save_checkpoint(tmp_path, 5, contents(5))
    folder = tmp_path / "checkpoints" / "step_000005"
    evil = pickle.dumps(eval, protocol=2)
    (folder / "state.pt").write_bytes(evil)
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["files"]["state.pt"] = {"bytes": len(evil), "sha256": hashlib.sha256(evil).hexdigest()}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(CourseError, match="no sound checkpoint") as caught:
        load_checkpoint(tmp_path, pytest.fail)
    assert "\n" not in str(caught.value)


def test_no_checkpoint_and_no_sound_one_are_one_line(tmp_path):
    with pytest.raises(CourseError, match="no checkpoint there"):
        load_checkpoint(tmp_path, pytest.fail)
    save_checkpoint(tmp_path, 5, contents(5))
    damage_bit(tmp_path / "checkpoints" / "step_000005" / "model.pt")
    with pytest.raises(CourseError, match="no sound checkpoint: step_000005 is damaged"):
        load_checkpoint(tmp_path, pytest.fail)


def test_a_lost_pointer_means_the_newest(tmp_path):
    for step in (5, 10):
        save_checkpoint(tmp_path, step, contents(step))
    (tmp_path / "latest").unlink()
    assert value_of(tmp_path) == 10


def test_after_a_fallback_the_damaged_one_is_replaced(stopped_run):
    damage_bit(stopped_run / "checkpoints" / "step_000010" / "optimizer.pt")
    stream = io.StringIO()
    resume_run(stopped_run, stop_at=12, stream=stream)
    assert "step_000010 is damaged (optimizer.pt" in stream.getvalue()
    sound = load_checkpoint(stopped_run, pytest.fail)
    assert sound["state.pt"]["step"] == 12
    kept = [c.name for c in list_checkpoints(stopped_run)]
    assert kept == ["step_000005", "step_000010", "step_000012"]  # the first is what was loaded
