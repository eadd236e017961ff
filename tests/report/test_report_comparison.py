import io

import pytest
from rich.console import Console

from snellen.core.cells import Measured
from snellen.core.comparison import Comparison, Pair
from snellen.report.comparison import comparison_table

RUNS = ("runs/auslan-before-the-change", "runs/auslan-after-the-change")
INTERVAL = "+12.3 [+11.1, +13.5]"


def pair(protocol, a, b):
    return Pair(
        protocol=protocol,
        a=a,
        b=b,
        clips=1000,
        only_a=200,
        only_b=77,
        accuracy_a=1.0,
        accuracy_b=0.877,
        difference=Measured(value=0.123, low=0.111, high=0.135, n=1000, groups=5, method="t"),
        p=0.0001,
        p_holm=0.0002,
        smallest_p=0.0001,
        test="exact McNemar, assumes independent clips",
        smallest_gap=Measured(value=0.03, low=None, high=None, n=1000, method="exact McNemar"),
        classes=(),
    )


def shown(a, b, *pairs):
    found = Comparison(task="isolated", a=a, b=b, contract="c" * 64, allowed={}, pairs=pairs)
    console = Console(file=io.StringIO(), width=80, color_system=None)
    console.print(comparison_table(found))
    return [line.rstrip() for line in console.file.getvalue().splitlines()]


def test_two_runs_are_named_above_the_table_and_models_alone_in_it():
    a, b = RUNS
    lines = shown(a, b, pair("session_disjoint", f"{a}:rocket", f"{b}:rocket"))
    assert lines[:2] == [f"A: {a}", f"B: {b}"]
    row = next(line for line in lines if INTERVAL in line)
    assert row.split() == [
        "session_disjoint",
        "rocket",
        "100.0",
        "87.7",
        *INTERVAL.split(),
        "<",
        "0.001",
    ]
    assert "A" not in lines[3].split()[:2]
    assert any(line.startswith("session_disjoint, rocket: 200 clips only A") for line in lines)


def test_one_model_of_each_run_is_named_without_its_run():
    a, b = (f"{run}:{model}" for run, model in zip(RUNS, ("lda", "rocket"), strict=True))
    lines = shown(a, b, pair("signer", a, b))
    row = next(line for line in lines if INTERVAL in line)
    assert row.split()[:3] == ["signer", "lda", "rocket"]


def test_models_of_one_run_keep_their_names():
    lines = shown("runs/x", "runs/x", pair("signer", "lda", "rocket"))
    assert lines[0] == "A and B: models of runs/x"
    assert any(line.startswith("signer, lda against rocket: 200 clips") for line in lines)


@pytest.mark.parametrize("model", ["trees", "a model with quite a long name of its own"])
def test_nothing_breaks_inside_an_interval_at_eighty_columns(model):
    lines = shown("runs/x", "runs/x", pair("session_disjoint", model, "rocket"))
    assert any(INTERVAL in line for line in lines)
    assert max(map(len, lines)) <= 80


def test_a_test_that_could_reject_nothing_gives_no_p_value():
    import msgspec

    hopeless = msgspec.structs.replace(pair("signer", "lda", "rocket"), smallest_p=0.375)

    lines = shown("runs/x", "runs/x", hopeless)

    assert any("too few groups" in line for line in lines)
    assert not any("0.001" in line for line in lines)
