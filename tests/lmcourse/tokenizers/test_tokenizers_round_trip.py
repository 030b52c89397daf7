"""Tokenizers lose nothing: ids to text, ids to bytes, files to tokenizers."""

import random

import numpy as np
import pytest
import torch

from lmcourse.errors import CourseError
from lmcourse.tokenizers import (
    BPETokenizer,
    CharTokenizer,
    WordTokenizer,
    check_ids,
    load_tokenizer,
    split_words,
)

ALL = [CharTokenizer, WordTokenizer, BPETokenizer]
STORY = 'Once upon a time, there was a girl named Lily.\n\n"Don\'t cry," said Tom. "It\'s all right!"\n'
HARD = [
    "",
    " ",
    "  two  spaces\t\ttabs\r\n\n\n lines \n",
    "<|endoftext|> is text here <eos> <unk> </s>",
    "’tis don’t rock'n'roll 'quoted' _x_ a_b 3.14 —dash…",
    "ёжик žluťoučký 你好吗 שלום 🦊👩‍👩‍👧 e\u0301 \u200b\ufeff\x00\x1f\u2028",
    "\U0010ffff\ue000",
    "a" * 3000,
]


def random_text(rng):
    alphabets = ["ab ", " '’\"\n", "éß漢🦊", "".join(map(chr, range(0x20, 0x7F))), "\t\r\n \u00a0\u2003"]
    parts = (
        "".join(rng.choices(rng.choice(alphabets), k=rng.randrange(12))) for _ in range(rng.randrange(12))
    )
    return "".join(parts)


def irregular_texts(seed, n=150):
    rng = random.Random(seed)
    return HARD + [STORY] + [random_text(rng) for _ in range(n)]


@pytest.mark.parametrize("cls", ALL)
def test_decoding_gives_the_text_and_the_bytes_back(cls):
    texts = irregular_texts(0)
    tokenizer = cls.train(texts)
    for text in texts:
        ids = tokenizer.encode(text)
        assert tokenizer.decode(ids) == text
        assert b"".join(tokenizer.token_bytes(i) for i in ids) == text.encode()
        assert tokenizer.eos_id not in ids
        check_ids(ids, tokenizer.vocab_size)
    assert tokenizer.eos_id == tokenizer.vocab_size - 1
    assert tokenizer.token_bytes(tokenizer.eos_id) == b""
    assert tokenizer.decode([tokenizer.eos_id, *tokenizer.encode(STORY), tokenizer.eos_id]) == STORY


def test_bpe_spells_text_it_never_saw():
    tokenizer = BPETokenizer.train([STORY] * 3, vocab_size=300)
    for text in irregular_texts(1):
        assert tokenizer.decode(tokenizer.encode(text)) == text


def test_bpe_bytes_sum_to_the_size_of_a_file(tmp_path):
    file = tmp_path / "text.txt"
    file.write_bytes("".join(irregular_texts(2)).encode())
    text = file.read_bytes().decode()
    tokenizer = BPETokenizer.train([text], vocab_size=400)
    assert sum(len(tokenizer.token_bytes(i)) for i in tokenizer.encode(text)) == file.stat().st_size


def test_bpe_shows_half_a_character_as_a_replacement():
    tokenizer = BPETokenizer.train(["plain words only"], vocab_size=257)
    ids = tokenizer.encode("🦊")
    assert len(ids) == 4
    assert tokenizer.decode(ids[:3]) == "\ufffd"
    assert b"".join(tokenizer.token_bytes(i) for i in ids[:3]) == "🦊".encode()[:3]


def test_bpe_learns_as_many_tokens_as_asked_and_the_same_ones_again():
    texts = [STORY] * 4
    small, large = BPETokenizer.train(texts, vocab_size=257), BPETokenizer.train(texts, vocab_size=290)
    assert (small.vocab_size, large.vocab_size) == (257, 290)
    assert len(large.encode(STORY)) < len(small.encode(STORY)) == len(STORY.encode())
    assert large.fingerprint == BPETokenizer.train(texts, vocab_size=290).fingerprint != small.fingerprint


def test_words_take_their_space_with_them():
    assert split_words(STORY)[:6] == ["Once", " upon", " a", " time", ",", " there"]
    assert split_words(' "Don\'t," said Tom.\n\n"Go!"') == [
        ' "', "Don", "'t", ",", '"', " said", " Tom", ".", "\n\n", '"', "Go", "!", '"',
    ]  # fmt: skip
    for text in irregular_texts(3, n=500):
        assert "".join(split_words(text)) == text


@pytest.mark.parametrize("cls", [CharTokenizer, WordTokenizer])
def test_unknown_pieces_are_named_with_their_place(cls):
    tokenizer = cls.train(["abc def"])
    with pytest.raises(CourseError, match=r"at character 3 is not among the \d+ of the") as caught:
        tokenizer.encode("abc\nxyz")
    assert "BPE" in str(caught.value)


@pytest.mark.parametrize("cls", ALL)
def test_ids_as_an_array_are_the_ids(cls):
    tokenizer = cls.train(HARD)
    for text in HARD:
        array = tokenizer.encode_array(text)
        assert array.dtype == np.uint32 and array.tolist() == tokenizer.encode(text)


def test_characters_as_an_array_refuse_what_they_cannot_spell():
    tokenizer = CharTokenizer.train(["abz"])
    for text in ("abc", "ab\U0001f642", "\x00"):
        with pytest.raises(CourseError, match="is not among the 3"):
            tokenizer.encode_array(text)
    with pytest.raises(CourseError, match="surrogate"):
        tokenizer.encode_array("a\ud800")


@pytest.mark.parametrize("cls", ALL)
def test_training_texts_are_checked(cls):
    for texts, words in (
        ("one string", r"write \[text\]"),
        ([], "got none"),
        (["", ""], "got none"),
        (["a", 3], r"texts\[1\] must be a string; got int"),
        (["\ud800"], "half a surrogate pair at character 0"),
    ):
        with pytest.raises(CourseError, match=words):
            cls.train(texts)
    with pytest.raises(CourseError, match="half a surrogate"):
        cls.train(["ab"]).encode("a\udfff")
    with pytest.raises(CourseError, match="must be a string"):
        cls.train(["ab"]).encode(None)


@pytest.mark.parametrize("size", [256, 300.0, True, "300"])
def test_bpe_vocabulary_has_room_for_all_bytes(size):
    with pytest.raises(CourseError, match=r"at least 257.* and at most 1,000,000"):
        BPETokenizer.train([STORY], vocab_size=size)


@pytest.mark.parametrize(
    ("ids", "words"),
    [
        (
            [0, 5, 10, 11],
            "token id 10 at position 2 is outside the vocabulary: ids go from 0 to 9 (vocabulary size 10)",
        ),
        (np.array([[1, 2], [-1, 3]]), "token id -1 at position 2"),
        (torch.tensor([9, 10]), "token id 10 at position 1"),
        ([1, 2.0], "whole numbers; got 2.0 at position 1"),
        ([True], "whole numbers; got True"),
    ],
)
def test_bad_ids_are_named(ids, words):
    with pytest.raises(CourseError) as caught:
        check_ids(ids, 10)
    assert words in str(caught.value)


def test_good_ids_pass():
    for ids in (
        [],
        (0, 9),
        np.array([3], dtype=np.uint16),
        torch.tensor([[0, 9]]),
        np.int64(4),
        torch.tensor(4),
    ):
        assert check_ids(ids, 10) is None


@pytest.mark.parametrize("cls", ALL)
def test_decoding_checks_ids(cls):
    tokenizer = cls.train(["some text"])
    for bad in (-1, tokenizer.vocab_size):
        with pytest.raises(CourseError, match="at position 1"):
            tokenizer.decode([0, bad])
        with pytest.raises(CourseError):
            tokenizer.token_bytes(bad)


@pytest.mark.parametrize("cls", ALL)
def test_saved_tokenizers_come_back_equal(cls, tmp_path):
    texts = irregular_texts(4)
    tokenizer = cls.train(texts)
    file = tmp_path / "tokenizer.json"
    file.write_text("older content")
    tokenizer.save(file)
    assert [f.name for f in tmp_path.iterdir()] == ["tokenizer.json"]
    loaded = load_tokenizer(file)
    assert type(loaded) is cls
    assert loaded.fingerprint == tokenizer.fingerprint
    assert (loaded.vocab_size, loaded.eos_id) == (tokenizer.vocab_size, tokenizer.eos_id)
    assert [loaded.encode(t) for t in texts] == [tokenizer.encode(t) for t in texts]
