import json
import os

import pytest

from autograde.grading.store import Store, Stored, safe_name, write_atomically
from autograde.judge.verdict import SubmissionVerdict, Verdict


def stored(points=3.0):
    verdict = Verdict("W1.1", "partly", points, 8.0, "ů \ud800")
    return Stored(
        SubmissionVerdict("ada", "W1", (verdict,)), {"W1.1": {"cells": "x"}}, {"key": verdict}, "d", 1.5
    )


def test_a_verdict_comes_back_as_it_was(tmp_path):
    store = Store(tmp_path / "new")
    store.save("ada", stored())
    assert store.load("ada") == stored() and store.load("bob") is None
    store.save("ada", stored(4.0))
    assert store.load("ada").verdict.points == 4.0
    assert [p.name for p in store.folder.iterdir()] == ["ada.json"]


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"format": 1}', b'{"format": 99}', b"\xff\xfe"])
def test_a_damaged_file_counts_as_none(tmp_path, damage):
    store = Store(tmp_path)
    store.save("ada", stored())
    store.path("ada").write_bytes(damage)
    assert store.load("ada") is None


def test_a_verdict_out_of_range_on_disk_counts_as_none(tmp_path):
    store = Store(tmp_path)
    store.save("ada", stored())
    data = json.loads(store.path("ada").read_text())
    data["verdict"]["verdicts"][0]["points"] = 1000
    store.path("ada").write_text(json.dumps(data))
    assert store.load("ada") is None


def test_when_the_disk_is_full_the_old_verdict_survives(tmp_path, monkeypatch):
    store = Store(tmp_path)
    store.save("ada", stored(1.0))

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        store.save("ada", stored(2.0))
    assert store.load("ada").verdict.points == 1.0
    assert [p.name for p in tmp_path.iterdir()] == ["ada.json"]


IDS = ["ada", "Ada", "a/b", "../../etc/passwd", "..", ".", "", "[x]", "*", "ů", "=1+1", "a" * 300, "\udc80",
       "con\n", "a%2Fb", "a=2Fb", " a", "a "]  # fmt: skip


def test_every_student_id_is_a_file_of_its_own(tmp_path):
    names = [safe_name(student) for student in IDS]
    assert len({name.lower() for name in names}) == len(IDS)
    for name in names:
        path = tmp_path / f"{name}.json"
        write_atomically(path, b"x")
        assert path.parent == tmp_path and path.is_file() and len(name) < 100
    assert safe_name("ada") == "ada" and safe_name("2024-17") == "2024-17"
