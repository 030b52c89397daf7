import re

import pytest

from lmcourse.cli.main import main
from lmcourse.model import Transformer
from lmcourse.trainer import configure


def params(capsys, *words, status=0):
    assert main(["params", *words]) == status
    captured = capsys.readouterr()
    return captured.out.splitlines() if status == 0 else captured.err


def rows(lines):
    return {cells[0]: cells[1:] for cells in (re.split(r"  +", line) for line in lines if line)}


SETTINGS = ("vocab=30", "layers=2", "width=16", "context=8", "lr=0.01")


def test_every_parameter_is_listed_once_and_the_numbers_add_up(capsys):
    lines = params(capsys, *SETTINGS, "optimizer=muon", "adamw-lr=0.004")
    config = configure("stories", layers=2, width=16, context=8)
    model = Transformer(config.model(30))
    table = rows(lines)
    for name, p in model.named_parameters():
        shape, numbers, *_ = table[name]
        assert shape == " x ".join(map(str, p.shape)) and numbers == f"{p.numel():,}"
    total = sum(p.numel() for p in model.parameters())
    assert lines[-1].split()[-2:] == [f"{total:,}", "all"]
    groups = lines[lines.index("") + 1 : -1]
    assert len(groups) == 3
    assert sum(int(line.split()[2].replace(",", "")) for line in groups) == total


def test_rule_decay_and_rate_stand_beside_each_parameter(capsys):
    table = rows(params(capsys, *SETTINGS, "optimizer=muon", "adamw_lr=0.004", "weight_decay=0.2"))
    assert table["blocks.1.mlp.up.weight"][-3:] == ["muon", "0.2", "0.01"]
    assert table["embedding.weight"][-3:] == ["adamw", "0.2", "0.004"]
    assert table["final_norm.weight"][-3:] == ["adamw", "0", "0.004"]


def test_a_tied_weight_is_one_row_with_both_names(capsys):
    table = rows(params(capsys, *SETTINGS, "tied=true"))
    assert "embedding.weight = head.weight" in table and "head.weight" not in table


def test_the_vocabulary_of_a_corpus_is_found_where_it_is_not_given(capsys):
    table = rows(params(capsys, "corpus=markov", "corpus_tokens=3000", "layers=1"))
    assert table["embedding.weight"][0] == "16 x 32"


def test_a_run_is_listed_with_its_own_settings(capsys, tmp_path):
    options = "--corpus markov --corpus-tokens 3000 --layers 1 --steps 1 --batch 2 --context 16 --tied"
    assert main(["train", *options.split(), "--out", str(tmp_path / "run")]) == 0
    capsys.readouterr()
    table = rows(params(capsys, str(tmp_path / "run")))
    assert table["embedding.weight = head.weight"][0] == "16 x 32"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nowhere"], "nowhere: not the folder of a run"),
        (["nowhere", "layers=2"], "give one run, or settings as NAME=VALUE"),
        (["one", "two"], "give one run"),
        (["layer=2"], "there is no setting 'layer'; did you mean 'layers'?"),
        (["layers=two"], "layers: expected a whole number, got 'two'"),
        (["layers=0", "vocab=9"], "layers: expected at least 1"),
        (["vocab=many"], "vocab: expected a whole number of at least 1, got 'many'"),
        (["optimizer=adam", "vocab=9"], "adam"),
    ],
)
def test_a_mistake_is_one_line(capsys, words, message):
    error = params(capsys, *words, status=2)
    assert message in error and error.count("\n") == 1
