import json

import pytest

from lmcourse.errors import CourseError
from lmcourse.trainer import TrainConfig, configure
from lmcourse.trainer.presets import PRESETS


def test_json_round_trip_for_every_preset():
    for corpus in PRESETS:
        settings = {"text": {"text": "some.txt"}, "prepared": {"data": "some"}}.get(corpus, {})
        config = configure(corpus, seed=7, lr=1, **settings)  # an int is a number too
        assert TrainConfig.from_json(config.to_json()) == config


def test_an_unknown_setting_names_the_nearest():
    with pytest.raises(CourseError, match=r"no setting 'learn_rate'|did you mean"):
        TrainConfig.from_values({"learn_rate": 1e-3})
    with pytest.raises(CourseError, match="no setting 'widht'; did you mean 'width'"):
        TrainConfig.from_json(json.dumps({"widht": 64}), "config.json")


@pytest.mark.parametrize("text", ["", "{", "[1, 2]", '"steps"'])
def test_what_is_no_configuration_is_one_line(text):
    with pytest.raises(CourseError, match=r"^config\.json: .*$"):
        TrainConfig.from_json(text, "config.json")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"steps": 0}, "steps: expected at least 1, got 0"),
        ({"steps": -5}, "steps"),
        ({"steps": 2.5}, "steps: expected a whole number, got 2.5"),
        ({"steps": True}, "steps: expected a whole number"),
        ({"width": 100, "heads": 3}, "width: 100 cannot be divided among 3 heads"),
        ({"lr": -1.0}, "lr"),
        ({"lr": float("nan")}, "lr"),
        ({"beta2": 1.0}, "beta2"),
        ({"validation": 1.0}, "validation"),
        ({"seed": 2**40}, "seed"),
        ({"corpus": "storys"}, "corpus: expected stories, markov, regimes, text or prepared, got 'storys'"),
        ({"corpus": "text"}, "text"),
        ({"text": "a.txt"}, "text"),
        ({"tokenizer": "bytes", "corpus": "stories"}, "tokenizer"),
        ({"micro_batches": 40}, "micro_batches: 40 parts of a step of only 32 rows"),
        ({"mask": False}, "mask: rows of whole documents"),
        ({"mask": "no"}, "mask: expected true or false"),
    ],
)
def test_a_value_no_run_can_have_is_one_line(values, message):
    with pytest.raises(CourseError, match=message) as caught:
        TrainConfig.from_values({"batch": 32, **values})
    assert "\n" not in str(caught.value)


def test_a_short_run_warms_up_for_a_tenth_of_it():
    assert configure("stories", steps=50).warmup == 5
    assert configure("stories", steps=50, warmup=20).warmup == 20


def test_without_mask_the_rows_are_windows():
    assert configure("stories", mask=False).batches == "windows"


def test_the_defaults_can_be_read_without_torch():
    import subprocess
    import sys

    code = "import sys, lmcourse.cli.train; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
