import io
import json

import numpy as np
import pytest
import torch

from lmcourse.data.prepare import Recipe, prepare
from lmcourse.errors import CourseError
from lmcourse.packing import TokenStream
from lmcourse.tokenizers import BPETokenizer
from lmcourse.trainer import configure, resume_run, start_run
from lmcourse.trainer.checkpoint import load_checkpoint
from lmcourse.trainer.data import build_data


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(["to", "be", "or", "not"], n)) for n in rng.integers(3, 40, 150)]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    recipe = Recipe(tokenizer="word", validation=0.2)
    prepare([tmp_path / "a.jsonl"], tmp_path / "prepared", recipe, stream=io.StringIO())
    return tmp_path / "prepared"


def small(folder, **changes):
    settings = {
        "context": 16,
        "layers": 1,
        "heads": 2,
        "width": 16,
        "steps": 8,
        "batch": 4,
        "precision": "fp32",
    }
    return configure("prepared", data=str(folder), **(settings | {"save_every": 4} | changes))


@pytest.mark.parametrize("batches", ["windows", "documents"])
def test_a_run_from_prepared_files_resumes_to_the_bit_and_copies_nothing(folder, tmp_path, quiet, batches):
    config = small(folder, batches=batches)
    start_run(config, tmp_path / "straight", stream=quiet)
    start_run(config, tmp_path / "halves", stop_at=4, stream=quiet)
    result = resume_run(tmp_path / "halves", stream=quiet)
    assert isinstance(result.data.train, TokenStream)
    models = [load_checkpoint(tmp_path / run, print)["model.pt"] for run in ("straight", "halves")]
    assert all(torch.equal(models[0][name], models[1][name]) for name in models[0])
    assert [p.name for p in (tmp_path / "halves" / "data").iterdir()] == ["data.json"]


def test_changed_or_missing_files_stop_a_resume(folder, tmp_path, quiet):
    start_run(small(folder), tmp_path / "run", stop_at=4, stream=quiet)
    recipe = Recipe(tokenizer="word", validation=0.3)
    prepare([tmp_path / "a.jsonl"], folder, recipe, overwrite=True, stream=io.StringIO())
    with pytest.raises(CourseError, match="holds other data than those"):
        resume_run(tmp_path / "run", stream=quiet)
    folder.rename(tmp_path / "elsewhere")
    with pytest.raises(CourseError, match="no prepared data there"):
        resume_run(tmp_path / "run", stream=quiet)


def test_a_folder_without_prepared_data_is_one_line(tmp_path):
    with pytest.raises(CourseError, match="no prepared data there"):
        build_data(small(tmp_path))
    with pytest.raises(CourseError, match="data: a prepared folder belongs"):
        configure("stories", data="x")


def test_bpe_of_the_users_text_learns_nothing_from_the_held_out_end(tmp_path):
    """The end is of letters that the rest lacks: no merge may know them."""
    (tmp_path / "a.txt").write_text("abcd efgh " * 200 + "vwxyz " * 60)
    config = configure("text", text=str(tmp_path / "a.txt"), tokenizer="bpe", vocabulary=300, validation=0.2)
    tokenizer = build_data(config).tokenizer
    pieces = [tokenizer.token_bytes(i) for i in range(tokenizer.vocab_size)]
    assert b"abcd" in pieces and not any(len(piece) > 1 and b"w" in piece for piece in pieces)
    assert isinstance(tokenizer, BPETokenizer)
