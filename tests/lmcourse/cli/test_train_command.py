import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lmcourse.cli.main import main
from lmcourse.trainer.checkpoint import list_checkpoints

SHAKESPEARE = Path(__file__).resolve().parents[4] / "shared" / "data" / "tinyshakespeare.txt"
TINY = ["--corpus", "regimes", "--corpus-tokens", "4000", "--context", "24", "--layers", "1", "--width", "16"]
TINY += ["--heads", "2", "--batch", "6", "--threads", "1"]


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def one_line_error(capsys, *arguments: str) -> str:
    status = main(list(arguments))
    error = capsys.readouterr().err
    assert status == 2 and error.count("\n") == 1, error
    assert not Path("runs").exists()
    return error


def test_a_run_ends_with_its_loss_beside_the_floor_and_a_sample(capsys):
    assert main(["train", *TINY, "--steps", "20"]) == 0
    out = capsys.readouterr().out
    loss = float(re.search(r"validation loss\s+([\d.]+) nats", out)[1])
    floor = float(re.search(r"floor\s+([\d.]+) \(", out)[1])
    above = float(re.search(r"above the floor\s+([+-][\d.]+)", out)[1])
    assert above == pytest.approx(loss - floor, abs=2e-4) and above > 0
    for word in ("step 20/20", "perplexity", "tokens/s", "ln 17", "sample", "unigram entropy"):
        assert word in out
    logs = {"log.jsonl", "log.csv", "events.jsonl", "monitor.jsonl"}
    names = {"config.json", "checkpoints", "latest", "data"} | logs
    assert {p.name for p in Path("runs/regimes").iterdir()} == names
    assert main(["train", *TINY, "--steps", "2"]) == 0
    assert Path("runs/regimes-2").is_dir()


def test_overwrite_removes_a_run_and_nothing_else(capsys):
    assert main(["train", *TINY, "--steps", "2", "--out", "run"]) == 0
    assert main(["train", *TINY, "--steps", "3", "--out", "run", "--overwrite"]) == 0
    assert Path("run/log.jsonl").read_text().count("\n") == 3
    Path("precious").mkdir()
    Path("precious/thesis.txt").write_text("x")
    assert main(["train", *TINY, "--steps", "2", "--out", "precious", "--overwrite"]) == 2
    assert "not the folder of a run" in capsys.readouterr().err
    assert Path("precious/thesis.txt").exists()


def test_overwrite_spares_what_only_looks_like_a_run(capsys):
    assert main(["train", *TINY, "--steps", "2", "--out", "run"]) == 0
    Path("run/notes.txt").write_text("mine")
    Path("web").mkdir()
    Path("web/config.json").write_text("{}")
    Path("web/index.html").write_text("x")
    for folder, kept in (("run", "notes.txt"), ("web", "index.html")):
        assert main(["train", *TINY, "--steps", "2", "--out", folder, "--overwrite"]) == 2
        assert "not removed" in capsys.readouterr().err
        assert Path(folder, kept).exists() and Path(folder, "config.json").exists()


def test_another_shape_in_the_configuration_is_one_line(capsys):
    assert main(["train", *TINY, "--steps", "2", "--stop-at", "1", "--out", "run"]) == 0
    config = json.loads(Path("run/config.json").read_text())
    Path("run/config.json").write_text(json.dumps(config | {"layers": config["layers"] + 1}))
    assert "config.json" in one_line_error(capsys, "sample", "run")
    assert "config.json" in one_line_error(capsys, "train", "--resume", "run")


def test_a_lost_tokenizer_is_named(capsys):
    Path("book.txt").write_text("The cat sat on the mat. " * 60)
    small = ["--layers", "1", "--width", "16", "--heads", "2", "--context", "16", "--steps", "2"]
    assert main(["train", "--text", "book.txt", *small, "--out", "run"]) == 0
    Path("run/tokenizer.json").unlink()
    assert "tokenizer is missing" in one_line_error(capsys, "sample", "run")


@pytest.mark.parametrize("mistake", [["--text", "typo.txt"], ["--corpus", "storys"], ["--lr", "fast"]])
def test_overwrite_with_a_mistake_loses_nothing(capsys, mistake):
    assert main(["train", *TINY, "--steps", "2", "--out", "run"]) == 0
    assert main(["train", *mistake, "--out", "run", "--overwrite"]) == 2
    assert Path("run/log.jsonl").read_text().count("\n") == 2
    assert list(Path("run/checkpoints").glob("step_*"))


def test_stop_resume_and_sample(capsys):
    assert main(["train", *TINY, "--steps", "12", "--stop-at", "5", "--out", "here"]) == 0
    assert "lmcourse train --resume here" in capsys.readouterr().out
    assert main(["train", "--resume", "here"]) == 0
    assert "validation loss" in capsys.readouterr().out
    assert main(["sample", "here", "--tokens", "5", "--prompt", "1 2 3"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("1 2 3") and all(0 <= int(word) <= 16 for word in out.split())
    assert main(["sample", "here", "--prompt", "99"]) == 2
    assert "outside the vocabulary" in capsys.readouterr().err


def test_user_text_to_a_sample(capsys):
    Path("songs").mkdir()
    for number in range(8):
        Path(f"songs/{number}.txt").write_text("so it goes, and so it went. " * 30, encoding="utf-8")
    options = ["--layers", "1", "--width", "16", "--heads", "2", "--context", "16", "--batch", "4"]
    for tokenizer in ("char", "word", "bpe"):
        arguments = ["train", "--text", "songs", "--tokenizer", tokenizer, "--steps", "4", *options]
        assert main([*arguments, "--out", tokenizer]) == 0
        out = capsys.readouterr().out
        assert "validation loss" in out and "floor " not in out
        assert main(["sample", tokenizer, "--prompt", "so it", "--top-k", "3", "--temperature", "0.5"]) == 0
        assert capsys.readouterr().out.startswith("so it")


@pytest.mark.skipif(not SHAKESPEARE.exists(), reason=f"no {SHAKESPEARE.name} beside this checkout")
def test_tiny_shakespeare(capsys):
    options = ["--steps", "6", "--layers", "1", "--width", "32", "--batch", "4", "--context", "64"]
    assert main(["train", "--text", str(SHAKESPEARE), "--validation", "0.005", *options]) == 0
    out = capsys.readouterr().out
    loss = float(re.search(r"validation loss\s+([\d.]+) nats", out)[1])
    assert "ln 66" in out and 2.5 < loss < 4.3  # 65 characters and the end of a document


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--steps", "-3"], "steps: expected at least 1, got -3"),
        (["--steps", "many"], "--steps: expected a whole number, got 'many'"),
        (["--lr", "fast"], "--lr: expected a number, got 'fast'"),
        (["--width", "100", "--heads", "3"], "100 cannot be divided among 3 heads"),
        (["--corpus", "storys"], "'storys'"),
        (["--text", "none.txt"], "none.txt"),
        (["--text", "empty.txt"], "no text"),
        (["--text", "latin.txt"], "not UTF-8"),
        (["--text", "short.txt"], "context: a window of 64 tokens does not fit"),
        (["--corpus", "markov", "--text", "short.txt"], "not both"),
        (["--corpus", "text"], "--text"),
        (["--tokenizer", "char"], "--tokenizer"),
        (["--resume", "nowhere"], "not the folder of a run"),
        (["--resume", "nowhere", "--lr", "1"], "leave out --lr"),
        (["--stop-at", "0"], "--stop-at"),
        (["--threads", "99999999999"], "--threads: expected at most"),
        (["--batch", "99999999999999999999"], "batch: expected 1 to"),
        (["--context", "99999999999999999999"], "context: expected 1 to"),
        (["--layers", "99999999999999999999"], "layers: expected 1 to"),
        (["--weight-decay", "inf"], "weight_decay"),
        (["--out", ""], "--out"),
        (["--out", "short.txt", "--steps", "1", "--corpus", "markov"], "exists already"),
        (["--batches", "rows"], "batches"),
        (["--no-mask", "--batches", "documents"], "mask"),
        (["--seed", "-1"], "seed"),
    ],
)
def test_a_wrong_option_is_one_line(capsys, arguments, message):
    Path("empty.txt").write_text("")
    Path("latin.txt").write_bytes(b"caf\xe9 " * 100)
    Path("short.txt").write_text("Not much.")
    assert message in one_line_error(capsys, "train", *arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "not the folder of a run"),
        (["nowhere", "--tokens", "x"], "--tokens"),
        (["nowhere", "--temperature", "-1"], "--temperature"),
        (["nowhere", "--temperature", "nan"], "--temperature"),
    ],
)
def test_a_wrong_sample_option_is_one_line(capsys, arguments, message):
    assert message in one_line_error(capsys, "sample", *arguments)


def test_help_names_defaults_and_units(capsys):
    with pytest.raises(SystemExit) as done:
        main(["train", "--help"])
    assert done.value.code == 0
    text = " ".join(capsys.readouterr().out.split())
    for part in (
        "--resume RUN",
        "optimizer steps (default: ",
        "--mask, --no-mask",
        "peak learning rate (default: ",
    ):
        assert part in text


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_ctrl_c_saves_at_the_step_boundary_and_says_how_to_go_on(tmp_path):
    command = [sys.executable, "-m", "lmcourse.cli.main", "train", *TINY, "--steps", "100000", "--out", "run"]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[3])}
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )
    log = tmp_path / "run" / "log.jsonl"
    deadline = time.monotonic() + 60
    while not (log.exists() and log.read_text().count("\n") > 3) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130 and "Traceback" not in err
    step = int(re.search(r"stopped after step (\d+) of 100000", out)[1])
    assert "lmcourse train --resume run" in out
    assert list_checkpoints(tmp_path / "run")[-1].name == f"step_{step:06d}"
    assert log.read_text().count("\n") == step
