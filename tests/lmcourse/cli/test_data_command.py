import json

import pytest

from lmcourse.cli.main import main


@pytest.fixture
def texts(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps({"body": f"Number {n * n}."}) + "\n" for n in range(60)) + "oops\n")
    return path


def test_prepare_and_info(texts, tmp_path, capsys):
    out = tmp_path / "out"
    options = ["--tokenizer", "char", "--field", "body", "--validation", "0.2", "--jobs", "1"]
    assert main(["data", "prepare", str(texts), "--out", str(out), *options]) == 0
    printed, progress = capsys.readouterr()
    assert "60 documents" in printed and f"{texts}:61: not JSON" in printed
    assert f"lmcourse train --data {out}" in printed and "encoding: 100 %" in progress
    assert main(["data", "info", str(out), "--verify", "--documents", "1"]) == 0
    assert "checksums   right" in (printed := capsys.readouterr().out) and "Number " in printed
    assert main(["data", "info", str(out / "train.tokens")]) == 0
    assert "uint16" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["prepare", "{texts}", "--out", "{tmp}/o", "--jobs", "0"], "--jobs: expected at least 1"),
        (
            ["prepare", "{texts}", "--out", "{tmp}/o", "--validation", "some"],
            "--validation: expected a number",
        ),
        (["prepare", "{texts}", "--out", "{tmp}/o", "--validation", "2"], "validation: expected a share"),
        (["prepare", "{texts}", "--out", "{tmp}/o", "--vocabulary", "9"], "vocabulary: expected 257"),
        (["prepare", "{texts}", "--out", "{tmp}/o"], "no text in it"),
        (["prepare", "{texts}", "--out", "{texts}"], "exists already and is no prepared data"),
        (["prepare", "{tmp}/none", "--out", "{tmp}/o"], "no such file"),
        (["info", "{tmp}/none"], "cannot read the token file"),
        (["info", "{tmp}"], "no prepared data there"),
        (["get", "wikipedia"], "expected shakespeare or tinystories"),
    ],
)
def test_mistakes_are_one_line(texts, tmp_path, capsys, arguments, message):
    assert main(["data", *(a.format(texts=texts, tmp=tmp_path) for a in arguments)]) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert error.startswith("lmcourse: ") and message in error


def test_what_does_not_go_together_with_prepared_data(tmp_path, capsys):
    assert main(["train", "--data", str(tmp_path), "--corpus", "stories"]) == 2
    assert "--data: give that or --corpus stories" in capsys.readouterr().err
    assert main(["train", "--data", str(tmp_path), "--validation", "0.1"]) == 2
    assert "--validation: what prepared data hold out" in capsys.readouterr().err
    assert main(["train", "--data", str(tmp_path), "--tokenizer", "char"]) == 2
    assert "--tokenizer: the corpus 'prepared' brings its own" in capsys.readouterr().err
