"""Tokenizer files that are missing, damaged or foreign, and places that cannot be written."""

import hashlib
import json

import pytest

from lmcourse.errors import CourseError
from lmcourse.tokenizers import BPETokenizer, CharTokenizer, WordTokenizer, load_tokenizer

ALL = [CharTokenizer, WordTokenizer, BPETokenizer]


def fails(file) -> str:
    with pytest.raises(CourseError) as caught:
        load_tokenizer(file)
    message = str(caught.value)
    assert str(file) in message
    assert "\n" not in message
    return message


def sealed(content) -> str:
    """A file with a right checksum around any content."""
    digest = hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
    return json.dumps({"format": "lmcourse tokenizer", "version": 1, "sha256": digest} | content)


@pytest.mark.parametrize("cls", ALL)
def test_damage_anywhere_is_found(cls, tmp_path):
    file = tmp_path / "tokenizer.json"
    cls.train(["some text with words"]).save(file)
    whole = file.read_text()
    for cut in (0, 1, len(whole) // 2, len(whole) - 3):
        file.write_text(whole[:cut])
        assert "damaged" in fails(file)
    place = whole.index("kind") + 40
    file.write_text(whole[:place].replace(cls.kind, "other") + whole[place:])
    assert "checksum" in fails(file)


def test_missing_and_foreign_files_are_named(tmp_path):
    assert "there is no tokenizer file" in fails(tmp_path / "nowhere.json")
    assert "cannot read" in fails(tmp_path)
    for text, words in (
        ("[1, 2]", "no tokenizer file of this course"),
        ('{"model": {"type": "BPE"}}', "no tokenizer file of this course"),
        ('{"format": "lmcourse tokenizer", "version": 2}', "reads version 1"),
        ("[" * 100_000, "not JSON"),
        ('{"format": "lmcourse tokenizer", "version": 1}', "checksum"),
    ):
        file = tmp_path / "foreign.json"
        file.write_text(text)
        assert words in fails(file)
    file.write_bytes(b"\xff\xfe\x00")
    assert "UTF-8" in fails(file)


@pytest.mark.parametrize(
    "content",
    [
        {"kind": "char", "pieces": ["a", "a"]},
        {"kind": "char", "pieces": ["ab"]},
        {"kind": "char", "pieces": [1]},
        {"kind": "char"},
        {"kind": "word", "pieces": ["two words"]},
        {"kind": "bpe", "library": {}},
        {
            "kind": "bpe",
            "library": {"version": "1.0", "model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}},
        },
        {"kind": "bpe", "library": {"added_tokens": [{"id": 0, "content": "<s>"}]}},
    ],
)
def test_content_that_is_no_tokenizer_is_refused(content, tmp_path):
    file = tmp_path / "odd.json"
    file.write_text(sealed(content))
    assert f"holds no {content['kind']} tokenizer" in fails(file)


def test_unknown_kinds_are_named(tmp_path):
    file = tmp_path / "odd.json"
    file.write_text(sealed({"kind": "unigram"}))
    assert "kind 'unigram'" in fails(file)


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    tokenizer = CharTokenizer.train(["abc"])
    with pytest.raises(CourseError, match="cannot save the tokenizer"):
        tokenizer.save(tmp_path / "missing" / "tokenizer.json")
    with pytest.raises(CourseError, match="cannot save the tokenizer"):
        tokenizer.save(tmp_path)
