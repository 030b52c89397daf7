"""Reading the user's own text, good and bad."""

import json
from pathlib import Path

import pytest

from lmcourse.corpora.text_files import read_documents
from lmcourse.errors import CourseError

SHAKESPEARE = Path(__file__).parents[4] / "shared" / "data" / "tinyshakespeare.txt"


def fails(path) -> str:
    with pytest.raises(CourseError) as caught:
        read_documents(path)
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_a_text_file_is_one_document_kept_as_it_is(tmp_path):
    text = "Žluťoučký kůň\r\n\r\nпишет 🦊\tdone \n"
    (tmp_path / "a.txt").write_bytes(text.encode())
    assert read_documents(tmp_path / "a.txt") == [text]
    (tmp_path / "bom.txt").write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert read_documents(str(tmp_path / "bom.txt")) == [text]


def test_separator_lines_split_documents(tmp_path):
    file = tmp_path / "many.txt"
    file.write_bytes(
        b"<|endoftext|>\none\ntwo\n<|endoftext|>\r\nsays <|endoftext|> inside\n<|endoftext|>\n \n"
        b"<|endoftext|>"
    )
    assert read_documents(file) == ["one\ntwo\n", "says <|endoftext|> inside\n"]


def test_json_lines_give_a_document_a_line(tmp_path):
    file = tmp_path / "a.jsonl"
    records = [{"text": "one\ntwo", "id": 1}, {"text": "  "}, {"text": "ключ"}]
    file.write_bytes("\r\n\n".join(json.dumps(r, ensure_ascii=False) for r in records).encode("utf-8-sig"))
    assert read_documents(file) == ["one\ntwo", "ключ"]


def test_a_folder_is_read_in_sorted_order_with_its_subfolders(tmp_path):
    for name, text in {
        "b.txt": "third",
        "a/z.md": "first",
        "a/zz.TXT": "second",
        "c.jsonl": '{"text": "fourth"}',
        "skip.py": "no",
        ".hidden/x.txt": "no",
        "empty.txt": "",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert read_documents(tmp_path) == ["first", "second", "third", "fourth"]


def test_what_is_missing_or_empty_is_named(tmp_path):
    assert "no such file or folder" in fails(tmp_path / "nowhere.txt")
    assert "no .txt, .md, .jsonl file" in fails(tmp_path)
    (tmp_path / "empty.txt").write_text(" \n")
    assert "there is no text in it" in fails(tmp_path / "empty.txt")
    assert "there is no text in it" in fails(tmp_path)


def test_other_encodings_are_named_with_their_offset(tmp_path):
    latin = tmp_path / "latin.txt"
    latin.write_bytes(b"caf\xe9 au lait")
    message = fails(latin)
    assert "byte 0xe9 at offset 3" in message
    assert "iconv" in message
    (tmp_path / "wide.txt").write_bytes("hello".encode("utf-16"))
    assert "iconv -f UTF-16" in fails(tmp_path / "wide.txt")
    (tmp_path / "zero.txt").write_bytes("hello".encode("utf-16-le"))
    assert "zero byte at offset 1" in fails(tmp_path / "zero.txt")
    (tmp_path / "cut.txt").write_bytes("ключ".encode()[:-1])
    assert "at offset 6" in fails(tmp_path / "cut.txt")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{'text': 1}", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ('{"body": "x"}', 'no field "text"'),
        ('["text"]', 'no field "text"'),
        ('{"text": null}', "must be a string; got NoneType"),
        ('{"text": "\\ud83d"}', "half a surrogate pair"),
    ],
)
def test_bad_lines_are_named_by_file_and_number(tmp_path, line, words):
    file = tmp_path / "bad.jsonl"
    file.write_text('{"text": "fine"}\n\n' + line + "\n")
    message = fails(file)
    assert f"{file}:3: " in message
    assert words in message


@pytest.mark.skipif(not SHAKESPEARE.exists(), reason=f"{SHAKESPEARE.name} is not here")
def test_shakespeare_is_one_document():
    documents = read_documents(SHAKESPEARE)
    assert len(documents) == 1
    assert documents[0].encode() == SHAKESPEARE.read_bytes()
