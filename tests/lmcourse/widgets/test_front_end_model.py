"""The models in the browser's JavaScript give what the Python models give, on shared cases."""

import json
import shutil
import subprocess
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

import lmcourse.widgets as widgets
from lmcourse.toys.documents import random_documents
from lmcourse.toys.hashing import hashed
from lmcourse.toys.packing_view import MODES, STRATEGIES
from lmcourse.widgets.text import decimal, fill, percent, strings

STAGE = Path(widgets.__file__).with_name("stage.js")
PACKING, WASTE = widgets.DESIGNS["packing"], widgets.DESIGNS["waste"]
ODD_TEXTS = [
    "",
    "A:0",
    "A:5 B:",
    "A:5 A:6",
    "5 9 3",
    "a:4,b:200;C:1",
    "A:201 B:7",
    "Z:3 9",
    "x",
    " ".join(["1"] * 28),
]


def payload_cases(design, settings):
    text = strings("en", design.kind)
    base = {control.name: control.default for control in design.controls}
    cases = []
    for changed in settings:
        params = base | changed
        payload = design.describe(params, text)
        record = {name: getattr(payload, name) for name in ("readout", "caption", "alt", "numbers", "grid")}
        record |= {
            "problems": payload.problems,
            "grid_caption": payload.grid_caption,
            "scalars": payload.scalars,
        }
        record["arrays"] = {name: array.tolist() for name, array in payload.arrays.items()}
        cases.append({"params": params, "payload": record})
    return cases


def packing_settings(rng):
    for k in range(200):
        documents = ODD_TEXTS[k] if k < len(ODD_TEXTS) else random_documents(int(rng.integers(0, 1000)))
        if k % 7 == 0 and k:
            documents += f" Q:{rng.integers(0, 180)}"
        yield {
            "documents": documents,
            "window": int(rng.integers(1, 65)),
            "mode": MODES[k % 3],
            "strategy": STRATEGIES[k // 3 % 2],
            "eos": bool(k // 6 % 2),
            "reset": bool(k // 12 % 2),
            "row": int(rng.integers(0, 5)),
            "selected": int(rng.integers(0, 64)),
            "first_tokens": int(rng.integers(0, 3)),
            "first_loss": float(rng.integers(0, 90)) / 10,
            "second_tokens": int(rng.integers(0, 9)),
        }


def waste_settings(rng):
    for k in range(60):
        yield {
            "row_length": int(2 ** rng.uniform(4, 12)),
            "mean": int(2 ** rng.uniform(3, 11)),
            "spread": k % 31 * 0.05,
            "batch": int(rng.integers(1, 65)),
            "seed": int(rng.integers(0, 10000)),
        }


def denominator_settings(rng):
    for k in range(60):
        first, second = (int(n) for n in rng.integers(1, 65, 2))
        yield {
            "first_tokens": first,
            "second_tokens": first if k % 6 == 0 else second,
            "first_loss": k % 17 * 0.5,
            "second_loss": float(rng.integers(0, 81)) / 10,
        }


def shared_cases():
    rng = np.random.default_rng(7)
    controls = [asdict(c) for design in widgets.DESIGNS.values() for c in design.controls]
    numbers = [c for design in widgets.DESIGNS.values() for c in design.controls if c.kind == "range"]
    call = widgets.packing("A:5 B:9", window=17, mode="pack", eos=True, first_loss=2.5)
    return {
        "text": {kind: strings("en", kind) for kind in widgets.DESIGNS},
        "fill": [
            {"template": t, "values": v, "expected": fill(t, **v)}
            for t in ("{n:token|tokens} of {m}", "{m}{n}", "{n}", "no place")
            for v in ({"n": 1, "m": "x"}, {"n": 0, "m": "y z"}, {"n": 1234567, "m": "–"}, {"n": 999, "m": ""})
        ],
        "percent": [
            {"part": int(a), "whole": int(b), "expected": percent(int(a), int(b))}
            for b in (0, 1, 3, 8, 16, 2000, 10**9 + 7)
            for a in (0, b // 3, b // 2, b)
        ],
        "decimal": [
            {"value": v, "digits": n, "expected": decimal(v, n)}
            for v in (0.0, 1.6, 2.5, 0.125, 99.995)
            for n in (1, 2)
        ],
        "hashed": [
            {"seed": s, "counter": c, "expected": int(hashed(s, np.array([c]))[0])}
            for s in (0, 1, 9999)
            for c in (0, 1, 511, 2**20)
        ],
        "documents": [{"seed": s, "expected": random_documents(s)} for s in range(40)],
        "packing": payload_cases(PACKING, packing_settings(rng)),
        "waste": payload_cases(WASTE, waste_settings(rng)),
        "denominator": payload_cases(widgets.DESIGNS["denominator"], denominator_settings(rng)),
        "controls": controls,
        "clamped": [
            {"control": asdict(c), "value": v, "expected": c.clamped(v)}
            for c in numbers
            for v in (-3, 0, 0.49, 7.5, 16.2, 64, 5000)
        ],
        "calls": [
            {
                "kind": "packing",
                "controls": [asdict(c) for c in PACKING.controls],
                "params": call.params,
                "expected": repr(call).replace("'", '"'),
            }
        ],
    }


def test_javascript_agrees_with_python(tmp_path):
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed, so the widgets' JavaScript cannot run outside a browser")
    module = tmp_path / "stage.mjs"
    module.write_text(STAGE.read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "cases.json").write_text(json.dumps(shared_cases()), encoding="utf-8")
    test = Path(__file__).with_name("stage.test.mjs")
    done = subprocess.run(
        [node, "--test", str(test)],
        env={"STAGE": module.as_uri(), "CASES": str(tmp_path / "cases.json"), "PATH": str(Path(node).parent)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]


def test_front_end_is_small_and_reaches_for_nothing():
    source = STAGE.read_text(encoding="utf-8")
    assert len(source.encode()) < 60_000
    for word in (
        "import ",
        "import(",
        "eval(",
        "new Function",
        "innerHTML",
        "fetch(",
        "XMLHttpRequest",
        "https:",
    ):
        assert word not in source
