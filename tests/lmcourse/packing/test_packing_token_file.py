import hashlib
import json
import os
import pickle
from pathlib import Path

import numpy as np
import pytest

from lmcourse.errors import CourseError
from lmcourse.packing import TokenFile, TokenFileWriter, write_token_file

IDS = [0, 17, 65_535, 3, 9]


@pytest.fixture
def path(tmp_path):
    write_token_file(tmp_path / "a.tokens", IDS, 65_536, "abc", eos=3)
    return tmp_path / "a.tokens"


@pytest.mark.parametrize(
    ("vocab_size", "dtype"), [(2, np.uint16), (65_536, np.uint16), (65_537, np.uint32), (70_000, np.uint32)]
)
def test_the_vocabulary_chooses_the_type(tmp_path, vocab_size, dtype):
    ids = [0, vocab_size - 1, 1]
    write_token_file(tmp_path / "t", np.array(ids), vocab_size)
    file = TokenFile(tmp_path / "t")
    assert file.tokens.dtype == dtype and file.tokens.tolist() == ids and len(file) == 3


@pytest.mark.parametrize("bad", [70_000, -1])
def test_an_id_outside_the_vocabulary_is_refused_and_nothing_written(tmp_path, bad):
    with pytest.raises(CourseError, match=f"id {bad} is outside"):
        write_token_file(tmp_path / "t", [1, bad, 2], 300)
    assert list(tmp_path.iterdir()) == []


def test_fractions_are_no_ids(tmp_path):
    with pytest.raises(CourseError, match="integers"):
        write_token_file(tmp_path / "t", np.array([1.5]), 300)


def test_an_empty_stream_survives(tmp_path):
    write_token_file(tmp_path / "t", [], 5)
    assert TokenFile(tmp_path / "t").tokens.tolist() == []


def test_the_map_opens_late_and_does_not_travel(path):
    file = TokenFile(path, fingerprint="abc")
    copy = pickle.loads(pickle.dumps(file))
    assert copy._tokens is None and copy.tokens.tolist() == IDS
    assert file._tokens is None


def test_another_tokenizers_file_is_refused(path):
    with pytest.raises(CourseError, match="another tokenizer"):
        TokenFile(path, fingerprint="abd")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda b: b[:-1], "damaged .* bytes instead of"),
        (lambda b: b + b"\0\0", "damaged .* bytes instead of"),
        (lambda b: b[:20], "damaged"),
        (lambda b: b[:5], "not a token file"),
        (lambda b: b"", "not a token file"),
        (lambda b: b"hello, this is text" + b, "not a token file"),
        (lambda b: b.replace(b'"version": 2', b'"version": 7'), "version 7"),
        (lambda b: b.replace(b"uint16", b"uint32"), "contradictory"),
        (lambda b: b.replace(b"uint16", b"int16 "), "unreadable header"),
        (lambda b: b.replace(b'"count": 5', b'"count":-5'), "contradictory"),
        (lambda b: b.replace(b'{"version"', b'["version"'), "unreadable header"),
    ],
)
def test_a_damaged_file_is_one_line(path, damage, message):
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(CourseError, match=message) as caught:
        TokenFile(path)
    assert str(path) in str(caught.value) and "\n" not in str(caught.value)


def test_a_missing_file_is_one_line(tmp_path):
    with pytest.raises(CourseError, match="No such file"):
        TokenFile(tmp_path / "none")


def test_ids_beyond_the_vocabulary_are_found_when_asked_for(tmp_path):
    write_token_file(tmp_path / "t", [1, 2, 3], 10)
    raw = (tmp_path / "t").read_bytes()
    (tmp_path / "t").write_bytes(raw[:-2] + (999).to_bytes(2, "little"))
    file = TokenFile(tmp_path / "t")
    with pytest.raises(CourseError, match="id 999, its vocabulary is 10"):
        file.check()


def test_a_full_disk_leaves_the_old_file(path, monkeypatch):
    before = path.read_bytes()

    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_token_file(path, [1, 2], 5)
    assert path.read_bytes() == before and [p.name for p in path.parent.iterdir()] == [path.name]


def test_the_header_can_be_read_by_others(path):
    raw = path.read_bytes()
    header = json.loads(raw[12 : 12 + int.from_bytes(raw[8:12], "little")])
    assert header == {
        "version": 2,
        "dtype": "uint16",
        "vocab_size": 65_536,
        "fingerprint": "abc",
        "count": 5,
        "eos": 3,
        "documents": 1,
        "sha256": hashlib.sha256(raw[512:]).hexdigest(),
    }
    assert np.frombuffer(raw[-10:], "<u2").tolist() == IDS


def test_a_stream_reads_like_the_array_and_keeps_no_map(tmp_path):
    ids = np.random.default_rng(3).integers(0, 70_000, 1000)
    write_token_file(tmp_path / "t", ids, 70_000)
    stream = TokenFile(tmp_path / "t").stream
    index = np.array([[5, -1, 999], [0, 0, 17]])
    for key in (index, slice(3, 50), slice(None, -1), slice(0, 0), 7, -1, ids > 60_000):
        taken = stream[key]
        assert np.array_equal(taken, ids[key]) and taken.dtype == np.uint32
        assert not isinstance(taken, np.memmap) or taken.base is None
    assert np.array_equal(np.asarray(stream), ids) and len(stream) == 1000
    assert [len(block) for block in stream.blocks(300)] == [300, 300, 300, 100]
    assert np.array_equal(np.concatenate(list(pickle.loads(pickle.dumps(stream)).blocks(7))), ids)


def test_a_killed_writer_goes_on_where_the_disk_had_all(tmp_path):
    partial, path = tmp_path / "t.partial", tmp_path / "t"
    writer = TokenFileWriter(partial, 300, "abc", eos=7)
    writer.append([1, 7, 2])
    kept = writer.commit()
    writer.append([299] * 5000)
    writer.close()  # as killed: these were not committed
    writer = TokenFileWriter(partial, 300, "abc", eos=7, keep=kept)
    writer.append(np.array([7, 4], np.int32))
    writer.finish(path)
    file = TokenFile(path)
    file.check()
    assert file.tokens.tolist() == [1, 7, 2, 7, 4] and file.documents == 2 and file.eos == 7
    write_token_file(tmp_path / "u", [1, 7, 2, 7, 4], 300, "abc", eos=7)
    assert path.read_bytes() == (tmp_path / "u").read_bytes()


def test_a_writer_does_not_go_on_from_less_than_it_left(tmp_path):
    writer = TokenFileWriter(tmp_path / "t", 300)
    writer.append([1, 2])
    writer.close()
    with pytest.raises(CourseError, match="shorter than its writer left it"):
        TokenFileWriter(tmp_path / "t", 300, keep=3)


def test_changed_ids_are_found_when_asked_for(path):
    raw = path.read_bytes()
    path.write_bytes(raw[:-2] + b"\x01\0")
    with pytest.raises(CourseError, match="differ from their checksum"):
        TokenFile(path).check()


@pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="reads the memory of the process from Linux"
)
def test_random_windows_of_a_stream_leave_memory_flat(tmp_path):
    """The same windows through a map that stays open are the control: its pages pile up."""
    N = 40_000_000
    write_token_file(tmp_path / "t", np.arange(N, dtype=np.uint32) % 60_000, 60_000)
    file = TokenFile(tmp_path / "t")

    def growth(tokens) -> float:
        rng = np.random.default_rng(0)
        before = resident()
        for _ in range(400):
            tokens[rng.integers(0, N - 65, (8, 1)) + np.arange(65)]
        return resident() - before

    assert growth(file.stream) < 10
    assert growth(file.tokens) > 40


def resident() -> float:
    """Megabytes."""
    return int(Path("/proc/self/status").read_text().partition("VmRSS:")[2].split()[0]) / 1000
