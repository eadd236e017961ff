"""The evaluation page says what its result files say, and nothing by hand."""

import importlib.util
import json
import re
import shutil
from pathlib import Path

import pytest

from snellen.errors import BadInput

DOCS = Path(__file__).resolve().parents[2] / "docs"
TEMPLATE = (DOCS / "evaluation.md.j2").read_text(encoding="utf-8")
CODE = re.compile(r"\{\{.*?\}\}|\{%.*?%\}", re.DOTALL)


@pytest.fixture(scope="module")
def writer():
    """The script docs/evaluation.py as a module."""
    spec = importlib.util.spec_from_file_location("evaluation_page", DOCS / "evaluation.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def copied(tmp_path):
    """A copy of the result files that a test may change."""
    shutil.copytree(DOCS / "results", tmp_path / "results")
    return tmp_path / "results" / "evaluation"


def numerals(template):
    """Digits that stand in a template's own words."""
    return re.findall(r"\S*\d\S*", CODE.sub("", template))


def test_the_page_is_what_the_result_files_give(writer):
    assert writer.page(writer.RESULTS) == writer.PAGE.read_text(encoding="utf-8")


def test_another_figure_in_a_file_is_another_figure_on_the_page(writer, copied):
    path = min(copied.glob("*.ladder.json"))
    ladder = json.loads(path.read_text())
    ladder["cells"][0]["accuracy"]["value"] = 0.4321
    path.write_text(json.dumps(ladder))

    assert "43.2 [" in writer.page(copied)
    assert "43.2 [" not in writer.page(writer.RESULTS)


def test_no_numeral_of_the_page_is_typed():
    assert numerals(TEMPLATE) == []
    assert numerals("is right on 88.5 % {{ share(2) }} of F1") == ["88.5", "F1"]


def test_what_was_not_measured_is_named_with_its_command(writer, copied):
    for path in copied.glob("*.json"):
        if not path.name.endswith(".ladder.json"):
            path.unlink()
    keys = [path.name.removesuffix(".ladder.json") for path in copied.glob("*.ladder.json")]
    page = writer.page(copied)

    for key in keys:
        for part in ("evaluation", "gate", "stress", "latency", "replay", "ablation.WHAT"):
            assert f"no `{key}.{part}.json`. `make evaluation` measures it." in page
        assert f"no `{key}.seeds.json`. `snellen run isolated DATA --seeds A,B,C` measures" in page
    assert "there is no `timing.json`" in page


def test_an_ablation_is_a_row_a_regime_with_our_figure_first(writer, copied):
    key = min(copied.glob("*.ladder.json")).name.removesuffix(".ladder.json")
    gap = {"state": "measured", "value": 0.05, "low": 0.01, "high": 0.09, "n": 60, "method": "m"}
    counts = {"clips": 60, "only_a": 6, "only_b": 3, "accuracy_a": 0.5, "accuracy_b": 0.45}
    tested = {"p": 0.01, "p_holm": 0.02, "smallest_p": 0.001, "test": "t", "classes": []}
    names = {"protocol": "signer", "a": "runs/x:landolt", "b": "runs/y:landolt"}
    pair = {**names, **counts, **tested, "difference": gap, "smallest_gap": gap}
    sides = {"task": "isolated", "a": "runs/x", "b": "runs/y", "contract": "c", "allowed": {}}
    found = json.dumps({**sides, "pairs": [pair]})
    (copied / f"{key}.ablation.snellen-zeros.json").write_text(found)

    row = "| snellen-zeros | signer | landolt | 50.0 | 45.0 | +5.0 [+1.0, +9.0] |"
    assert row in writer.page(copied)


def test_a_damaged_result_file_is_named(writer, copied):
    key = min(copied.glob("*.ladder.json")).name.removesuffix(".ladder.json")
    (copied / f"{key}.latency.json").write_text('{"format": 7}')

    with pytest.raises(BadInput, match=rf"{key}\.latency\.json"):
        writer.page(copied)


def test_how_long_it_took_is_summed(writer, copied):
    (copied / "timing.json").write_text('{"isl_kinect30": 90.0, "auslan_uci": 150.0}')
    page = writer.page(copied)

    assert "| isl_kinect30 | 1.5 |" in page.replace("\\", "")
    assert "| all | 4.0 |" in page
