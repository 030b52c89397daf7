import csv
import io
import json

import pytest

from lmcourse.errors import CourseError
from lmcourse.trainer.log import COLUMNS, LogRecord, RunLog, read_log
from lmcourse.trainer.progress import RunProgress


def record(step: int, **changes) -> LogRecord:
    values = {
        "step": step,
        "batch": step,
        "outcome": "stepped",
        "loss": 2.0 + 1 / step,
        "learning_rate": 1e-3,
        "gradient_norm": 0.5,
        "z_loss": None,
        "loss_scale": None,
        "rows": 4,
        "row_tokens": 16,
        "tokens": 90,
        "tokens_seen": 90 * step,
        "validation_loss": None,
        "floor": 1.25,
        "seconds": 0.5,
        "tokens_per_second": 180.0,
    }
    return LogRecord(**(values | changes))


def test_both_files_say_the_same(tmp_path):
    with RunLog(tmp_path) as log:
        for step in range(1, 4):
            log.append(record(step, validation_loss=1.5 if step == 3 else None))
            assert read_log(tmp_path)[-1].step == step  # on disk before the next step
    rows = list(csv.DictReader((tmp_path / "log.csv").open()))
    lines = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert [float(r["loss"]) for r in rows] == [line["loss"] for line in lines]
    assert rows[0]["validation_loss"] == "" and lines[0]["validation_loss"] is None
    assert tuple(rows[0]) == tuple(lines[0]) == COLUMNS


def test_a_loss_that_is_not_finite_is_visible(tmp_path):
    with RunLog(tmp_path) as log:
        log.append(record(1, loss=float("nan")))
    assert "nan" in (tmp_path / "log.csv").read_text()
    assert read_log(tmp_path)[0].loss != read_log(tmp_path)[0].loss


def test_a_cut_last_line_is_left_out_and_a_damaged_one_named(tmp_path):
    with RunLog(tmp_path) as log:
        log.append(record(1))
        log.append(record(2))
    path = tmp_path / "log.jsonl"
    whole = path.read_text()
    path.write_text(whole[:-20])
    assert [r.step for r in read_log(tmp_path)] == [1]
    path.write_text("rubbish\n" + whole)
    with pytest.raises(CourseError, match="line 1 is damaged"):
        read_log(tmp_path)
    path.unlink()
    with pytest.raises(CourseError, match="cannot read the log"):
        read_log(tmp_path)


def test_a_log_that_does_not_reach_the_checkpoint_is_damaged_and_kept(tmp_path):
    with RunLog(tmp_path) as log:
        log.append(record(1))
    before = (tmp_path / "log.jsonl").read_text()
    with pytest.raises(CourseError, match="do not reach step 5"):
        RunLog(tmp_path, steps_done=5, batches_done=5)
    assert (tmp_path / "log.jsonl").read_text() == before


def test_a_full_disk_is_one_line(tmp_path):
    log = RunLog(tmp_path)

    class Full(io.StringIO):
        def write(self, text):
            raise OSError(28, "No space left on device")

    log._jsonl.close()
    log._jsonl = Full()
    with pytest.raises(CourseError, match="log cannot be written"):
        log.append(record(1))


def test_plain_lines_where_there_is_no_terminal():
    stream = io.StringIO()
    with RunProgress(40, 0, 1.25, stream) as progress:
        for step in range(1, 41):
            progress.step(record(step))
    lines = stream.getvalue().splitlines()
    assert len(lines) == 10
    assert lines[0] == "step  4/40  loss 2.521  floor 1.250  180 tokens/s  18 s left"
    assert lines[-1].startswith("step 40/40") and "left" not in lines[-1]
    assert "\x1b" not in stream.getvalue()


def test_speed_is_tokens_by_elapsed_time_of_the_last_steps():
    stream = io.StringIO()
    with RunProgress(1, 0, None, stream) as progress:
        progress.step(record(1, tokens=300, seconds=0.25))
    assert "1,200 tokens/s" in stream.getvalue() and "floor" not in stream.getvalue()


def test_a_bar_on_a_terminal():
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    stream = Terminal()
    with RunProgress(4, 0, 1.25, stream) as progress:
        for step in range(1, 5):
            progress.step(record(step))
        progress.say("a line")
    shown = stream.getvalue()
    for part in ("4/4", "loss", "floor 1.250", "tokens/s", "a line"):
        assert part in shown
