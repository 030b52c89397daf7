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


FAULTS = [
    f"{name} {call}" for name in (*checkpoint.FILES, "manifest.json", "latest") for call in ("write", "sync")
]
FAULTS += ["rename 1", "rename 2"]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_full_disk_at_any_moment_leaves_the_old_checkpoint(tmp_path, monkeypatch, fault):
    save_checkpoint(tmp_path, 5, contents(5))
    full = OSError(errno.ENOSPC, "No space left on device")
    where, call = fault.split()
    write_file, replace, renames = checkpoint.write_file, os.replace, []

    def failing_write(path, content):
        if path.name.startswith(where):
            if call == "sync":
                path.write_bytes(content[: len(content) // 2])
            raise full
        write_file(path, content)

    def failing_replace(source, target):
        renames.append(source)
        if where == "rename" and len(renames) == int(call):
            raise full
        replace(source, target)

    monkeypatch.setattr(checkpoint, "write_file", failing_write)
    monkeypatch.setattr(os, "replace", failing_replace)
    with pytest.raises(CourseError, match=r"No space left on device.*earlier ones are untouched") as caught:
        save_checkpoint(tmp_path, 10, contents(10))
    monkeypatch.undo()
    assert "\n" not in str(caught.value)
    assert value_of(tmp_path) == 5
    assert not list(tmp_path.rglob("*.tmp-*"))
    save_checkpoint(tmp_path, 10, contents(10))
    assert value_of(tmp_path) == 10


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
    assert [c.name for c in list_checkpoints(stopped_run)] == ["step_000010", "step_000012"]
