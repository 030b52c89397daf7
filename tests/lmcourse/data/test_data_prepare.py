import io
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from shard_files import KINDS, lines, write_one

from lmcourse.data import prepare as module
from lmcourse.data.info import describe_file, describe_folder
from lmcourse.data.prepare import Recipe, prepare
from lmcourse.data.prepared import open_prepared
from lmcourse.errors import CourseError
from lmcourse.packing import TokenFile
from lmcourse.tokenizers import BPETokenizer, CharTokenizer, load_tokenizer

TEXTS = [f"Story {n}: the {'very ' * (n % 5)}old {'cat' if n % 3 else 'dog'} sleeps.\n" for n in range(200)]


@pytest.fixture
def corpus(tmp_path):
    """200 documents in four files of four kinds, in the order of TEXTS."""
    folder = tmp_path / "corpus"
    folder.mkdir()
    for shard, kind in enumerate(KINDS):
        write_one(folder, f"s{shard}", TEXTS[50 * shard : 50 * shard + 50], kind)
    return folder


def make(paths, folder, jobs=1, overwrite=False, **recipe):
    return prepare([paths], folder, Recipe(**recipe), jobs, overwrite, io.StringIO())


def documents(file: TokenFile, tokenizer) -> list[str]:
    ids = file.tokens
    ends = np.flatnonzero(ids == file.eos)
    starts = [0, *(ends[:-1] + 1)]
    return [tokenizer.decode(ids[a:b].tolist()) for a, b in zip(starts, ends, strict=True)]


@pytest.mark.parametrize("tokenizer", ["char", "word", "bpe"])
def test_every_document_is_on_exactly_one_side(corpus, tmp_path, tokenizer):
    data = make(corpus, tmp_path / "out", tokenizer=tokenizer, vocabulary=300, validation=0.2)
    sides = [documents(file, data.tokenizer) for file in (data.train, data.validation)]
    assert sorted(sides[0] + sides[1]) == sorted(TEXTS)
    assert sides[0] == [text for text in TEXTS if text in set(sides[0])]  # in the order of the files
    assert 15 <= len(sides[1]) <= 70
    data.train.check(), data.validation.check()
    assert data.train.documents == len(sides[0]) and data.train.eos == data.tokenizer.eos_id
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == [
        "data.json",
        "prepare.json",
        "tokenizer.json",
        "train.tokens",
        "validation.tokens",
    ]


def test_the_side_depends_on_the_text_alone(corpus, tmp_path):
    """Other files, another order, copies: a document stays on its side, and its copies with it."""
    first = make(corpus, tmp_path / "a", tokenizer="char", validation=0.2)
    again = lines(["new one", *reversed(TEXTS), *TEXTS])
    (tmp_path / "b.jsonl").write_bytes(again)
    second = make(tmp_path / "b.jsonl", tmp_path / "b", tokenizer="char", validation=0.2)
    held_out = set(documents(first.validation, first.tokenizer))
    assert set(documents(second.validation, second.tokenizer)) - {"new one"} == held_out
    assert not held_out & set(documents(second.train, second.tokenizer))


def test_the_tail_is_the_end(corpus, tmp_path):
    data = make(corpus, tmp_path / "out", tokenizer="char", validation=0.1, split="tail")
    held_out = documents(data.validation, data.tokenizer)
    assert TEXTS[-len(held_out) :] == held_out
    characters = sum(map(len, TEXTS))
    assert abs(sum(map(len, held_out)) - 0.1 * characters) < max(map(len, TEXTS))


@pytest.mark.parametrize("share", [0.1, 0.43])
def test_one_text_is_cut_at_the_character_and_has_no_end(tmp_path, share, monkeypatch):
    monkeypatch.setattr("lmcourse.data.text_shard.PIECE", 300)
    text = "".join(TEXTS)
    (tmp_path / "a.txt").write_text(text)
    data = make(tmp_path / "a.txt", tmp_path / "out", tokenizer="char", validation=share)
    train, validation = (data.tokenizer.decode(f.tokens.tolist()) for f in (data.train, data.validation))
    assert train + validation == text and len(validation) == int(len(text) * share)
    assert data.train.eos is None and data.train.documents == 0


@pytest.mark.parametrize("split", ["hash", "tail"])
def test_bpe_learns_from_the_training_part_alone(tmp_path, split):
    (tmp_path / "a.jsonl").write_bytes(lines(TEXTS))
    data = make(tmp_path / "a.jsonl", tmp_path / "out", vocabulary=300, validation=0.2, split=split)
    expected = BPETokenizer.train(documents(data.train, data.tokenizer), 300)
    assert data.tokenizer.fingerprint == expected.fingerprint
    assert "training part" in data.summary["trained_on"]


def test_a_list_tokenizer_says_that_it_has_seen_all(corpus, tmp_path):
    data = make(corpus, tmp_path / "out", tokenizer="char")
    assert "held-out text included" in "\n".join(describe_folder(tmp_path / "out"))
    assert data.tokenizer.fingerprint == CharTokenizer.train(TEXTS).fingerprint


def test_several_processes_write_the_same_files(corpus, tmp_path):
    one = make(corpus, tmp_path / "one", jobs=1, vocabulary=300)
    two = make(corpus, tmp_path / "two", jobs=2, vocabulary=300)
    assert [f.sha256 for f in (one.train, one.validation)] == [f.sha256 for f in (two.train, two.validation)]


@pytest.mark.parametrize("stop", range(1, 9))
@pytest.mark.parametrize("split", ["hash", "tail"])
def test_a_preparation_that_broke_off_anywhere_goes_on_and_ends_equal(
    corpus, tmp_path, monkeypatch, stop, split
):
    """Broken at every commit or completion in turn; nothing committed is encoded again."""
    monkeypatch.setattr(module, "COMMIT", 1000)
    monkeypatch.setattr("lmcourse.data.encode.CHUNK", 700)
    with open(corpus / "s0.jsonl", "ab") as file:
        file.write(b"oops\n")
    recipe = {"tokenizer": "char", "split": split, "validation": 0.2}
    whole = make(corpus, tmp_path / "whole", **recipe)

    done, write, finish = [], module._write_json, module.TokenFileWriter.finish

    def breaking(original):
        def wrapper(*args):
            original(*args)
            done.append(args)
            if len(done) == stop + 2:  # the plan is written twice before
                raise KeyboardInterrupt

        return wrapper

    monkeypatch.setattr(module, "_write_json", breaking(write))
    monkeypatch.setattr(module.TokenFileWriter, "finish", breaking(finish))
    with pytest.raises(KeyboardInterrupt):
        make(corpus, tmp_path / "out", **recipe)
    with pytest.raises(CourseError, match="not complete"):
        open_prepared(tmp_path / "out")
    monkeypatch.undo()
    data = make(corpus, tmp_path / "out", **recipe)
    for side in ("train", "validation"):
        assert getattr(data, side).sha256 == getattr(whole, side).sha256
    assert data.summary["bad"] == whole.summary["bad"] == 1
    assert sorted(p.name for p in data.folder.iterdir()) == sorted(p.name for p in whole.folder.iterdir())


def test_a_kill_between_the_completion_of_the_two_sides(corpus, tmp_path, monkeypatch):
    def breaking(self, path):
        finish(self, path)
        raise KeyboardInterrupt

    finish = module.TokenFileWriter.finish
    monkeypatch.setattr(module.TokenFileWriter, "finish", breaking)
    with pytest.raises(KeyboardInterrupt):
        make(corpus, tmp_path / "out", tokenizer="char")
    assert (tmp_path / "out" / "train.tokens").exists()
    monkeypatch.undo()
    data, whole = (make(corpus, tmp_path / name, tokenizer="char") for name in ("out", "whole"))
    assert (data.train.sha256, data.validation.sha256) == (whole.train.sha256, whole.validation.sha256)


def test_finished_parts_are_not_done_again(corpus, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "COMMIT", 1000)
    monkeypatch.setattr("lmcourse.data.encode.CHUNK", 700)
    encoded = []
    original = CharTokenizer.encode_array
    monkeypatch.setattr(
        CharTokenizer, "encode_array", lambda self, text: encoded.append(text) or original(self, text)
    )
    write = module._write_json

    def breaking(path, values):
        write(path, values)
        if values.get("shard") == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(module, "_write_json", breaking)
    with pytest.raises(KeyboardInterrupt):
        make(corpus, tmp_path / "out", tokenizer="char")
    before = len(encoded)
    monkeypatch.setattr(module, "_write_json", write)
    make(corpus, tmp_path / "out", tokenizer="char")
    assert 100 < before < 150 and encoded == TEXTS
    make(corpus, tmp_path / "out", tokenizer="char")  # and with all there, nothing
    assert len(encoded) == 200


def test_kill_9_in_the_middle(tmp_path):
    """A real process, killed while it encodes, then the same command to the end."""
    text = "".join(TEXTS)
    (tmp_path / "a.jsonl").write_bytes(lines([f"{n} {text}" for n in range(700)]))
    command = [sys.executable, "-m", "lmcourse.cli.main", "data", "prepare", str(tmp_path / "a.jsonl")]
    command += ["--tokenizer", "char", "--jobs", "1", "--out"]

    def run(folder, **options):
        return subprocess.Popen([*command, str(folder)], stderr=subprocess.DEVNULL, **options)

    killed = run(tmp_path / "out", stdout=subprocess.DEVNULL)
    while not (tmp_path / "out" / "train.partial").exists() and killed.poll() is None:
        time.sleep(0.002)
    os.kill(killed.pid, signal.SIGKILL)
    assert killed.wait() == -signal.SIGKILL
    assert run(tmp_path / "out", stdout=subprocess.DEVNULL).wait() == 0
    assert run(tmp_path / "whole", stdout=subprocess.DEVNULL).wait() == 0
    for name in ("train.tokens", "validation.tokens", "tokenizer.json", "data.json"):
        assert (tmp_path / "out" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_other_settings_or_files_are_refused_unless_asked_for(corpus, tmp_path):
    make(corpus, tmp_path / "out", tokenizer="char")
    with pytest.raises(CourseError, match="another tokenizer and validation; name another folder"):
        make(corpus, tmp_path / "out", tokenizer="word", validation=0.3)
    with open(corpus / "s0.jsonl", "ab") as file:
        file.write(lines(["new"]))
    with pytest.raises(CourseError, match="another files"):
        make(corpus, tmp_path / "out", tokenizer="char")
    data = make(corpus, tmp_path / "out", tokenizer="char", overwrite=True)
    assert data.summary["documents"] == 201
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("x")
    with pytest.raises(CourseError, match="no prepared data; name another"):
        make(corpus, tmp_path / "mine", overwrite=True)


def test_a_full_disk_is_one_line_and_what_is_there_stays(corpus, tmp_path, monkeypatch):
    def full(self):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module.TokenFileWriter, "commit", full)
    with pytest.raises(CourseError, match=r"No space left on device.* same command again") as caught:
        make(corpus, tmp_path / "out", tokenizer="char")
    assert "\n" not in str(caught.value)
    monkeypatch.undo()
    assert make(corpus, tmp_path / "out", tokenizer="char").summary["documents"] == 200


def test_a_tokenizer_file_that_cannot_spell_names_the_record(corpus, tmp_path):
    CharTokenizer.train(["Story 0123456789:thevryoldcatsdg lp."]).save(tmp_path / "t.json")
    with pytest.raises(CourseError, match=r"s0.jsonl:1: character '\\n' at character"):
        make(corpus, tmp_path / "out", tokenizer=str(tmp_path / "t.json"))
    BPETokenizer.train(["abcabc"], 260).save(tmp_path / "b.json")
    data = make(corpus, tmp_path / "other", tokenizer=str(tmp_path / "b.json"))
    assert data.tokenizer.fingerprint == load_tokenizer(tmp_path / "b.json").fingerprint


def test_a_vocabulary_beyond_two_bytes_gets_four(tmp_path):
    words = [f"w{n}" for n in range(70_000)]
    (tmp_path / "a.jsonl").write_bytes(lines([" ".join(words[n : n + 700]) for n in range(0, 70_000, 700)]))
    data = make(tmp_path / "a.jsonl", tmp_path / "out", tokenizer="word", validation=0.2)
    assert data.train.dtype == np.uint32 and data.tokenizer.vocab_size > 65_536
    assert sum(len(f) - f.documents for f in (data.train, data.validation)) == 70_000


@pytest.mark.parametrize(
    ("recipe", "message"),
    [
        ({"validation": 0.0}, "validation: expected a share"),
        ({"validation": float("nan")}, "validation: expected a share"),
        ({"split": "random"}, "split: expected hash or tail"),
        ({"tokenizer": "gpt2"}, "tokenizer: expected char, word, bpe or a tokenizer file, got 'gpt2'"),
    ],
)
def test_impossible_recipes_are_one_line(recipe, message):
    with pytest.raises(CourseError, match=message):
        Recipe(**recipe)


def test_corpora_without_enough_in_them_are_one_line(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(b"oops\n" * 3)
    with pytest.raises(CourseError, match=r"no text in it \(3 bad records, the first: .*:1: not JSON"):
        make(tmp_path / "a.jsonl", tmp_path / "out")
    (tmp_path / "b.jsonl").write_bytes(lines(["one document"]))
    with pytest.raises(CourseError, match="by hash none of the 1 documents is for validation"):
        make(tmp_path / "b.jsonl", tmp_path / "b", tokenizer="char", split="hash", validation=0.001)
    (tmp_path / "c.jsonl").write_bytes(lines(["short", "a very long last document " * 9]))
    with pytest.raises(CourseError, match="nothing is left for validation"):
        make(tmp_path / "c.jsonl", tmp_path / "c", tokenizer="char", split="tail", validation=0.1)


def test_a_wrong_field_does_not_occupy_the_folder(corpus, tmp_path):
    with pytest.raises(CourseError, match='no field "body"'):
        make(corpus / "s0.jsonl", tmp_path / "out", field="body")
    assert make(corpus / "s0.jsonl", tmp_path / "out", tokenizer="char").summary["documents"] == 50


def test_info_of_a_folder_and_of_a_file(corpus, tmp_path):
    with open(corpus / "s0.jsonl", "ab") as file:
        file.write(b"oops\n")
    data = make(corpus, tmp_path / "out", tokenizer="char", validation=0.2)
    text = "\n".join(describe_folder(tmp_path / "out", documents=1, verify=True))
    first = documents(data.train, data.tokenizer)[0].rstrip()
    for part in (
        "200 documents",
        "from 4 files",
        "char",
        "uint16",
        "1 bad records",
        "s0.jsonl:51",
        "right",
        first,
    ):
        assert part in text
    text = "\n".join(describe_file(tmp_path / "out" / "validation.tokens", documents=2))
    for document in documents(data.validation, data.tokenizer)[:2]:
        assert document.rstrip() in text
    raw = (tmp_path / "out" / "train.tokens").read_bytes()
    (tmp_path / "out" / "train.tokens").write_bytes(raw[:-2] + b"\1\0")
    with pytest.raises(CourseError, match="differ from their checksum"):
        describe_folder(tmp_path / "out", verify=True)
    with pytest.raises(CourseError, match="not a token file"):
        describe_file(corpus / "s0.jsonl")
    with pytest.raises(CourseError, match="no prepared data there"):
        describe_folder(corpus)
