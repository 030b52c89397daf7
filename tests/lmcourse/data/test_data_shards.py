import gzip
import json
from itertools import chain

import pyarrow
import pytest
from pyarrow import parquet
from shard_files import KINDS, lines, write_one

from lmcourse.data import ReadReport, find_shards, read_shard
from lmcourse.data import shards as module
from lmcourse.data.text_shard import PIECE
from lmcourse.errors import CourseError
from lmcourse.tokenizers import BPETokenizer, WordTokenizer


def read(path, **options):
    report = ReadReport()
    return [(r.number, r.text) for r in read_shard(path, report, **options)], report


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_gives_the_same_numbered_documents(tmp_path, kind):
    texts = ["eins", "zwölf\nZeilen", "  ", "🙂" * 3, *map(str, range(20))]
    found, report = read(write_one(tmp_path, "a", texts, kind))
    assert found == [(n, text) for n, text in enumerate(texts, 1) if text.strip()]
    assert (report.bad, report.empty) == (0, 1)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("after", [0, 1, 5, 13, 24, 99])
def test_reading_can_begin_anywhere_and_take_a_lane(tmp_path, kind, after):
    path = write_one(tmp_path, "a", [f"t{n}" for n in range(1, 25)], kind)
    assert [n for n, _ in read(path, after=after)[0]] == list(range(after + 1, 25))
    lanes = [[n for n, _ in read(path, after=after, lane=lane, lanes=5)[0]] for lane in range(5)]
    assert sorted(chain(*lanes)) == list(range(after + 1, 25))
    assert all(n % 5 == lane for lane, numbers in enumerate(lanes) for n in numbers)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"{broken", "not JSON"),
        (b'["text"]', 'no field "text"'),
        (b'{"Text": "x"}', 'no field "text"'),
        (b'{"text": 7}', "must be a string; got int"),
        (b'{"text": "\\ud800"}', "surrogate"),
        (b'{"text": "caf\xe9"}', "byte 0xe9 at offset 13"),
        (b"[" * 100_000, "not JSON"),
    ],
)
@pytest.mark.parametrize("compressed", [False, True])
def test_a_bad_line_is_counted_with_its_place_and_the_rest_is_read(tmp_path, line, reason, compressed):
    content = lines(["one"]) + b"\n" + line + b"\n" + lines(["two"])[:-1]  # no line break at the end
    path = tmp_path / ("a.jsonl.gz" if compressed else "a.jsonl")
    path.write_bytes(gzip.compress(content) if compressed else content)
    found, report = read(path)
    assert found == [(1, "one"), (4, "two")]
    assert report.bad == 1 and reason in str(report.examples[0])
    assert str(report.examples[0]).startswith(f"{path}:3: ")


def test_many_bad_lines_are_all_counted_and_a_few_shown(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"x\n" * 1000 + lines(["good"]))
    found, report = read(path)
    assert found == [(1001, "good")] and report.bad == 1000 and len(report.examples) == 5
    assert report.lines()[0] == "1,000 bad records were left out, the first of them:"
    list(read_shard(path, report))
    assert report.bad == 1000  # a second epoch finds no new ones
    again = ReadReport.from_json(json.loads(json.dumps(report.to_json())))
    list(read_shard(path, again))
    assert again.lines() == report.lines()


def test_an_endless_line_is_bad_and_not_held(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "MOST_BYTES", 1 << 10)
    path = tmp_path / "a.jsonl"
    path.write_bytes(lines(["one"]) + b"y" * 5000 + b"\n" + lines(["two", "z" * 2000]))
    found, report = read(path)
    assert found == [(1, "one"), (3, "two")] and report.bad == 2


def test_another_field(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": "no", "content": "yes"}\n')
    assert read(tmp_path / "a.jsonl", field="content")[0] == [(1, "yes")]


@pytest.mark.parametrize("kind", [".jsonl.zst", ".jsonl.gz", ".parquet"])
@pytest.mark.parametrize("damage", [lambda b: b[: len(b) // 2], lambda b: b[:10] + b"\xff" * 60 + b[70:]])
def test_a_damaged_file_is_one_line_and_not_an_early_end(tmp_path, kind, damage):
    path = write_one(tmp_path, "a", [f"{n * n * 7919}" * 9 for n in range(3000)], kind)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(CourseError, match="cannot be read after") as caught:
        read(path)
    assert str(path) in str(caught.value) and "\n" not in str(caught.value)


def test_zstd_files_in_several_frames(tmp_path):
    first, second = (write_one(tmp_path, s, [s * 3], ".jsonl.zst") for s in "ab")
    (tmp_path / "c.jsonl.zst").write_bytes(first.read_bytes() + second.read_bytes())
    assert read(tmp_path / "c.jsonl.zst")[0] == [(1, "aaa"), (2, "bbb")]


def test_parquet_columns(tmp_path):
    path = tmp_path / "a.parquet"
    column = pyarrow.array([b"fine", None, b"\xff\xfe", b"also"], pyarrow.binary())
    words = pyarrow.array(["a", "b", "a", "b"]).dictionary_encode()
    parquet.write_table(pyarrow.table({"text": column, "n": [1, 2, 3, 4], "w": words}), path)
    found, report = read(path)
    assert found == [(1, "fine"), (4, "also")]
    assert [str(e).removeprefix(f"{path}:") for e in report.examples] == [
        '2: the field "text" is null',
        "3: not UTF-8: byte 0xff at offset 0",
    ]
    assert [text for _, text in read(path, field="w")[0]] == ["a", "b", "a", "b"]
    with pytest.raises(CourseError, match='no column "body"; its columns are text, n, w'):
        read(path, field="body")
    with pytest.raises(CourseError, match='"n" holds int64, no text'):
        read(path, field="n")


def test_text_with_separators(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(
        b"\xef\xbb\xbfone\r\n<|endoftext|>\n \n<|endoftext|>\ntwo <|endoftext|> too\n\xff\nmore\n"
    )
    found, report = read(path)
    assert found == [(1, "one\r\n"), (3, "two <|endoftext|> too\nmore\n")]
    assert report.empty == 1 and "a.txt:6: not UTF-8" in str(report.examples[0])


def test_a_long_text_comes_in_pieces_that_change_no_token(tmp_path):
    verse = "Now is the winter, of our\n\n  discontent; made\n glorious \nsummer\nby this sun!\n"
    text = verse * (3 * PIECE // len(verse))
    (tmp_path / "a.txt").write_text(text)
    records = list(read_shard(tmp_path / "a.txt", ReadReport()))
    assert [r.ends for r in records] == [False, False, True]
    assert "".join(r.text for r in records) == text
    for tokenizer in (WordTokenizer.train([verse]), BPETokenizer.train([verse * 20], 300)):
        pieces = [token for r in records for token in tokenizer.encode(r.text)]
        assert pieces == tokenizer.encode(text)


def test_what_is_named_must_be_there_and_of_a_known_kind(tmp_path):
    with pytest.raises(CourseError, match="no such file"):
        find_shards([tmp_path / "none"])
    with pytest.raises(CourseError, match=r"no .jsonl, .* file in this folder"):
        find_shards([tmp_path])
    (tmp_path / "a.csv").write_text("x")
    with pytest.raises(CourseError, match="unknown kind of file"):
        find_shards([tmp_path / "a.csv"])
    (tmp_path / "b.jsonl").write_bytes(lines("x"))
    assert find_shards([tmp_path / "b.jsonl", tmp_path]) == [tmp_path / "b.jsonl"]
