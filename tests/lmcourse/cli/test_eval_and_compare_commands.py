"""`lmcourse eval` and `lmcourse compare` on small runs."""

import math
import os
import re
import shutil
from pathlib import Path

import pytest
import torch

from lmcourse.cli.main import main
from lmcourse.trainer import configure, start_run

WORDS = ["the", "cat", "saw", "a", "dog", "and", "the", "bird", "while", "it", "sang"]


def some_text(n: int) -> str:
    generator = torch.Generator().manual_seed(n)
    picks = torch.randint(len(WORDS), (n,), generator=generator).tolist()
    return " ".join(WORDS[i] for i in picks) + " ünd"


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> Path:
    """Runs a and b (seeds), longer (more steps), bpe (another tokenizer), numbers (no text)."""
    folder = tmp_path_factory.mktemp("runs")
    (folder / "text.txt").write_text(some_text(1500), encoding="utf-8")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    small = {"steps": 6, "layers": 1, "heads": 2, "width": 16, "context": 16, "batch": 4, "evaluate_every": 3}
    text = small | {"text": str(folder / "text.txt")}
    with open(os.devnull, "w") as nowhere:
        start_run(configure("text", **text), folder / "a", stream=nowhere)
        start_run(configure("text", **text, seed=1), folder / "b", stream=nowhere)
        start_run(configure("text", **(text | {"steps": 30})), folder / "longer", stream=nowhere)
        start_run(configure("text", **text, tokenizer="bpe", vocabulary=270), folder / "bpe", stream=nowhere)
        start_run(
            configure("regimes", **(small | {"corpus_tokens": 4000})), folder / "numbers", stream=nowhere
        )
    torch.set_num_threads(before)
    return folder


def rows_of(output: str) -> dict[str, list[str]]:
    """The lines of a table by their names, as words."""
    parts = (re.split(r"\s{2,}", line.strip()) for line in output.splitlines())
    return {name: cells for name, *cells in parts if cells}


def test_eval_has_every_yardstick_and_the_model(runs, capsys):
    assert main(["eval", str(runs / "a")]) == 0
    rows = rows_of(capsys.readouterr().out)
    V = len(set(some_text(1500))) + 1
    assert float(rows[f"uniform, ln {V}"][0]) == pytest.approx(math.log(V), abs=1e-4)
    losses = {name: float(rows[name][0]) for name in ("unigram", "2-gram", "5-gram", "xz", "the model")}
    assert losses["5-gram"] < losses["2-gram"] < losses["unigram"] < math.log(V)
    for name in ("5-gram", "the model"):  # of characters, almost all of one byte
        nats, perplexity, char, byte = (float(cell) for cell in rows[name])
        assert perplexity == pytest.approx(math.exp(nats), abs=0.02)
        assert char == pytest.approx(nats / math.log(2), abs=2e-4)
        assert char * 0.99 < byte <= char


def test_eval_of_numbers_has_the_floor_and_no_bits(runs, capsys):
    assert main(["eval", str(runs / "numbers")]) == 0
    rows = rows_of(capsys.readouterr().out)
    assert float(rows["floor (the truth)"][0]) < float(rows["unigram"][0])
    assert rows["the model"][2:] == ["-", "-"]


def test_eval_is_what_the_run_itself_measured(runs, capsys):
    assert main(["eval", str(runs / "a")]) == 0
    measured = float(rows_of(capsys.readouterr().out)["the model"][0])
    logged = (runs / "a" / "log.csv").read_text().splitlines()
    column = logged[0].split(",").index("validation_loss")
    assert measured == pytest.approx(float(logged[-1].split(",")[column]), abs=1e-4)


def test_eval_on_another_text(runs, capsys, tmp_path):
    (tmp_path / "other.txt").write_text("a cat sang and the bird saw a dog " * 5)
    (tmp_path / "strange.txt").write_text("the cat → dog")
    assert main(["eval", str(runs / "a"), "--text", str(tmp_path / "other.txt")]) == 0
    output = capsys.readouterr().out
    assert "other.txt" in output and "169 targets" in output
    assert main(["eval", str(runs / "a"), "--text", str(tmp_path / "strange.txt")]) == 2
    assert main(["eval", str(runs / "numbers"), "--text", str(tmp_path / "other.txt")]) == 2
    errors = capsys.readouterr().err.splitlines()
    assert len(errors) == 2 and "'→'" in errors[0] and "bare numbers" in errors[1]


def test_compare_tells_a_gain_from_noise_and_draws(runs, capsys, tmp_path):
    picture = tmp_path / "c.png"
    names = [str(runs / name) for name in ("a", "b", "longer")]
    assert main(["compare", *names, "--out", str(picture)]) == 0
    output = capsys.readouterr().out
    rows = rows_of(output)
    assert rows[names[2]][-1] == "best"
    assert "noise" not in rows[names[0]][-1]
    assert re.search(r"a, b: \d\.\d+ nats/token over 2 seeds, standard deviation 0\.\d+", output)
    assert picture.read_bytes().startswith(b"\x89PNG") and str(picture) in output


def test_compare_of_a_run_with_its_copy_is_noise(runs, capsys, tmp_path):
    shutil.copytree(runs / "a", tmp_path / "copy")
    arguments = [str(runs / "a"), str(tmp_path / "copy"), "--out", str(tmp_path / "c.png")]
    assert main(["compare", *arguments]) == 0
    assert "+0.0000 ± 0.0000, within the noise" in capsys.readouterr().out


def test_different_tokenizers_are_compared_in_bits_per_byte_only(runs, capsys, tmp_path):
    a, bpe = str(runs / "a"), str(runs / "bpe")
    assert main(["compare", a, bpe, "--out", str(tmp_path / "c.png")]) == 2
    assert "hold out different texts" in capsys.readouterr().err
    text = ["--text", str(runs / "text.txt"), "--out", str(tmp_path / "c.png")]
    assert main(["compare", a, bpe, *text]) == 0
    output = capsys.readouterr().out
    assert "nats/token" not in output.splitlines()[0] and "only bits per byte" in output
    assert "in bits per byte" in output.splitlines()[-1]


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["a"], "name two different runs"),
        (["a", "a"], "name two different runs"),
        (["a", "numbers"], "hold out different texts"),
        (["a", "nowhere"], "not the folder of a run"),
        (["a", "b", "--out", "c.txt"], "ends with .png"),
        (["a", "b", "--out", "/nowhere/c.png"], "cannot be written"),
    ],
)
def test_mistakes_are_one_line(runs, capsys, monkeypatch, names, message):
    monkeypatch.chdir(runs)
    assert main(["compare", *names]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1
