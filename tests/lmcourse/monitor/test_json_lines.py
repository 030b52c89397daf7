from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from lmcourse.errors import CourseError
from lmcourse.monitor.json_lines import JsonLines, from_json, read_json_lines, to_json


def strict(line: str):
    def refuse(constant: str):
        raise AssertionError(f"{constant} is not JSON")

    return json.loads(line, parse_constant=refuse)


def test_what_is_not_finite_is_a_text_to_others_and_itself_again_to_us() -> None:
    values = {"loss": math.nan, "norms": [math.inf, (1.5, -math.inf)], "batch": 3, "note": None}
    line = to_json(values)
    assert strict(line) == {
        "loss": "NaN",
        "norms": ["Infinity", [1.5, "-Infinity"]],
        "batch": 3,
        "note": None,
    }
    back = from_json(line)
    assert math.isnan(back["loss"])
    assert back["norms"] == [math.inf, [1.5, -math.inf]]


def test_a_resume_cuts_what_the_checkpoint_does_not_know(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    with JsonLines(path) as lines:
        for batch in (1, 2, 2, 3):
            lines.append({"batch": batch, "loss": math.nan})
    with path.open("a") as file:
        file.write('{"batch": 4, "lo')  # the process was killed here
    with JsonLines(path, batches_done=2) as lines:
        lines.append({"batch": 3})
    assert [line["batch"] for line in read_json_lines(path)] == [1, 2, 2, 3]
    assert math.isnan(read_json_lines(path)[0]["loss"])
    with JsonLines(path):
        pass
    assert read_json_lines(path) == []


@pytest.mark.parametrize("damage", ["nonsense", "[]", "{}", "3", '{"batch": "x"}'])
def test_damage_before_the_last_line_is_one_line_with_its_number(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "monitor.jsonl"
    path.write_text(f'{{"batch": 1}}\n{damage}\n{{"batch": 3}}\n')
    with pytest.raises(CourseError, match="line 2 is damaged"):
        read_json_lines(path)


def test_no_file_holds_nothing(tmp_path: Path) -> None:
    assert read_json_lines(tmp_path / "none.jsonl") == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    lines = JsonLines(path)
    lines._file = open("/dev/full", "w")  # noqa: SIM115
    with pytest.raises(CourseError, match="cannot be written"):
        lines.append({"batch": 1})
