"""The section of a stress test, from a result whose every number was chosen by hand."""

import csv
import io
from xml.etree import ElementTree as ET

import pytest
from msgspec.structs import replace

from snellen.core.cells import Measured, NotApplicable
from snellen.core.stress import Curve, Effect, NoOp, StressCondition, StressRow, StressStudy
from snellen.report.figures import svg
from snellen.report.section_files import table_csv
from snellen.report.studies.stress import section


def condition(name, title, kind, severity=0.0):
    return StressCondition(name=name, title=title, kind=kind, severity=severity)


CLEAN = condition("clean", "clean", "clean")
LEFT = condition("left_hand_missing", "left hand removed", "left hand")
RIGHT = condition("right_hand_missing", "right hand removed", "right hand")
BOTH = condition("both_hands_missing", "both hands removed", "both hands")
MASK = condition("mask_missing", "presence mask zeroed", "mask")
DROPOUT_10 = condition("dropout_10", "landmark dropout 10 %", "dropout", 0.1)
DROPOUT_50 = condition("dropout_50", "landmark dropout 50 %", "dropout", 0.5)


def cell(value, low, high):
    return Measured(value=value, low=low, high=high, n=200, groups=10, method="by hand")


def effect(accuracy, delta, low, high, below):
    return Effect(
        accuracy=cell(accuracy, accuracy - 0.05, min(1.0, accuracy + 0.05)),
        delta=cell(delta, low, high),
        below_gate=cell(below, 0.0, 1.0),
        mean_confidence=1 - below,
        changed=200,
    )


def clean(accuracy, below):
    outcome = effect(accuracy, 0.0, 0.0, 0.0, below)
    return replace(outcome, delta=NotApplicable(reason="compared with it"), changed=0)


OUTCOMES = {
    "net": {
        "clean": clean(0.80, 0.20),
        "left_hand_missing": effect(0.60, -0.20, -0.25, -0.15, 0.40),
        "right_hand_missing": effect(0.40, -0.40, -0.45, -0.35, 0.60),
        "both_hands_missing": effect(0.10, -0.70, -0.75, -0.65, 0.955),
        "mask_missing": NoOp(reason="it reads none of it"),
        "dropout_10": effect(0.79, -0.01, -0.03, 0.01, 0.20),
        "dropout_50": effect(0.50, -0.30, -0.35, -0.25, 0.50),
    },
    "tree": {
        "clean": clean(0.70, 0.10),
        "left_hand_missing": effect(0.40, -0.30, -0.35, -0.25, 0.10),
        "right_hand_missing": effect(0.50, -0.20, -0.25, -0.15, 0.10),
        "both_hands_missing": effect(0.10, -0.60, -0.65, -0.55, 0.0),
        "mask_missing": NoOp(reason="it reads none of it"),
        "dropout_10": effect(0.69, -0.01, -0.03, 0.01, 0.10),
        "dropout_50": effect(0.40, -0.30, -0.35, -0.25, 0.10),
    },
}


def study(outcomes=OUTCOMES, **changes):
    rows = [
        StressRow(model=model, condition=name, outcome=outcome)
        for model, found in outcomes.items()
        for name, outcome in found.items()
    ]
    made = StressStudy(
        corpus="made up",
        protocol="signer",
        protects="signer",
        preprocessing="p",
        layout="kinect-12",
        strict=False,
        seed=42,
        gate=0.7,
        noise_unit="shoulder widths of the clip",
        models=tuple(outcomes),
        conditions=(CLEAN, DROPOUT_10, LEFT, RIGHT, BOTH, MASK),
        curves=(
            Curve(kind="dropout", unit="share of points", conditions=(DROPOUT_10, DROPOUT_50)),
        ),
        rows=tuple(rows),
    )
    return replace(made, **changes)


def csv_rows(table):
    return list(csv.DictReader(io.StringIO(table_csv(table).decode())))


def sentence(shown, part):
    return next(x for x in shown.sentences if part in x)


def test_the_table_has_a_row_a_condition_and_a_column_a_model():
    table = section(study()).tables[0]

    assert table.name == "robustness_results"
    assert table.head == ("condition", "net", "tree")
    assert table.rows[0] == ("clean", "80.0 [75.0, 85.0]", "70.0 [65.0, 75.0]")
    assert table.rows[2][:2] == ("left hand removed", "60.0, -20.0 [-25.0, -15.0]")
    assert table.rows[5] == ("presence mask zeroed", "no-op", "no-op")


def test_the_csv_holds_every_figure_unrounded_and_no_empty_field():
    rows = csv_rows(section(study()).tables[0])

    assert list(rows[0])[:12] == [
        "model",
        "condition",
        "strict",
        "state",
        "accuracy",
        "low",
        "high",
        "delta",
        "delta_low",
        "delta_high",
        "below_gate",
        "n",
    ]
    assert len(rows) == 6 * 2
    assert all(field for row in rows for field in row.values())
    both = next(r for r in rows if (r["model"], r["condition"]) == ("net", "both_hands_missing"))
    assert (both["state"], both["accuracy"], both["delta"]) == ("measured", "0.1", "-0.7")
    assert (both["delta_low"], both["delta_high"]) == ("-0.75", "-0.65")
    assert (both["below_gate"], both["n"], both["changed"]) == ("0.955", "200", "200")


def test_a_no_op_is_never_a_number():
    row = next(r for r in csv_rows(section(study()).tables[0]) if r["condition"] == "mask_missing")

    assert {row[name] for name in ("state", "accuracy", "low", "delta", "below_gate", "n")} == {
        "no-op"
    }
    assert row["note"] == "it reads none of it"


def test_clean_is_compared_with_nothing():
    row = csv_rows(section(study()).tables[0])[0]

    assert (row["condition"], row["state"], row["accuracy"]) == ("clean", "measured", "0.8")
    assert row["delta"] == "not applicable"


def test_a_figure_without_interval_says_so():
    lone = replace(OUTCOMES["net"]["left_hand_missing"], delta=cell(-0.2, None, None))
    outcomes = {"net": OUTCOMES["net"] | {"left_hand_missing": lone}}

    shown = section(study(outcomes))

    assert shown.tables[0].rows[2][1] == "60.0, -20.0 (no interval)"
    assert csv_rows(shown.tables[0])[2]["delta_low"] == "no interval"
    assert "left hand removed" in sentence(shown, "cannot be told from 0")


def test_the_hands_are_compared_in_numbers():
    shown = section(study())

    assert sentence(shown, "changes by these points") == (
        "net changes by these points: without the left hand -20.0 [-25.0, -15.0], "
        "without the right hand -40.0 [-45.0, -35.0], without both -70.0 [-75.0, -65.0]."
    )
    assert sentence(shown, "Losing the right hand") == (
        "Losing the right hand costs more than losing the left for 1 of 2 models."
    )


def test_the_hand_that_costs_most_models_more_is_the_one_named():
    shown = section(study({"tree": OUTCOMES["tree"]}))

    assert sentence(shown, "Losing the") == (
        "Losing the left hand costs more than losing the right for 1 of 1 model."
    )


def test_a_bound_that_is_shown_as_0_tells_nothing_from_0():
    near = replace(OUTCOMES["net"]["dropout_50"], delta=cell(-0.009, -0.018, -0.0003))

    shown = section(study({"net": OUTCOMES["net"] | {"dropout_50": near}}))

    assert sentence(shown, "No severity of dropout")


def test_the_dearest_condition_and_the_harmless_ones_of_the_best_model_are_named():
    shown = section(study())

    assert sentence(shown, "dearest") == (
        "The dearest condition for net is both hands removed: -70.0 [-75.0, -65.0] points."
    )
    assert sentence(shown, "cannot be told") == (
        "For net the change cannot be told from 0 under: landmark dropout 10 %."
    )


def test_the_first_severity_with_a_certain_loss_is_named():
    shown = section(study())

    assert sentence(shown, "first severity").startswith(
        "With growing dropout, landmark dropout 50 % is the first severity"
    )


def test_a_curve_without_a_certain_loss_says_so():
    mild = replace(OUTCOMES["net"]["dropout_10"])
    shown = section(study({"net": OUTCOMES["net"] | {"dropout_50": mild}}))

    assert sentence(shown, "No severity") == (
        "No severity of dropout has a loss of net that can be told from 0."
    )


def test_answers_below_the_gate_are_counted():
    shown = section(study())

    assert sentence(shown, "both hands removed: net") == (
        "Answers below the gate of 70.0 %, both hands removed: "
        "net 191 of 200 (95.5 %), mean confidence 4.5 %; "
        "tree 0 of 200 (0.0 %), mean confidence 100.0 %."
    )


def test_no_ops_of_the_same_models_and_reason_are_one_sentence():
    dead = {name: NoOp(reason="unread") for name in OUTCOMES["net"]} | {"clean": clean(0.05, 1.0)}
    shown = section(study(OUTCOMES | {"majority": dead}))

    assert sentence(shown, "No-op for net, tree") == (
        "No-op for net, tree: presence mask zeroed; it reads none of it."
    )
    assert sentence(shown, "No-op for majority") == (
        "No-op for majority: landmark dropout 10 %, left hand removed, right hand removed, "
        "both hands removed, presence mask zeroed; unread."
    )


def test_a_hand_that_does_not_exist_is_not_measured_and_not_compared():
    gone = NotApplicable(reason="layout powerglove-8 has no left hand")
    outcomes = {"net": OUTCOMES["net"] | {"left_hand_missing": gone, "both_hands_missing": gone}}

    shown = section(study(outcomes))

    assert shown.tables[0].rows[2][1] == "not applicable"
    assert shown.not_measured[0] == "left hand removed: layout powerglove-8 has no left hand"
    assert not any("Losing the right hand" in x for x in shown.sentences)


def test_strict_figures_are_named_apart_and_say_what_they_miss():
    shown = section(study(strict=True))

    assert [table.name for table in shown.tables] == [
        "robustness_results_strict",
        "robustness_degradation_strict",
    ]
    assert {row["strict"] for row in csv_rows(shown.tables[0])} == {"yes"}
    assert any("strict conditions come after" in what for what in shown.not_measured)
    assert "after preprocessing" in shown.sentences[0]


def test_without_curves_there_is_no_degradation():
    shown = section(study(curves=()))

    assert [figure.name for figure in shown.figures] == ["robustness_results"]
    assert [table.name for table in shown.tables] == ["robustness_results"]


def test_without_hands_among_the_conditions_nothing_is_said_of_them():
    shown = section(study(conditions=(CLEAN, DROPOUT_10), curves=()))

    assert not any("hand" in x for x in shown.sentences)


def test_clean_alone_is_a_section_too():
    shown = section(study(conditions=(CLEAN,), curves=()))

    assert shown.tables[0].rows == (("clean", "80.0 [75.0, 85.0]", "70.0 [65.0, 75.0]"),)


def drawn_points(figure):
    """Symbols in the drawing, those of the legend left out."""
    root = ET.fromstring(f"<g>{svg(figure.spec, 'key')}</g>")  # noqa: S314 - our own drawing
    groups = [
        g for g in root.iter("{http://www.w3.org/2000/svg}g") if "mark-symbol" in g.get("class", "")
    ]
    groups += [g for g in root.iter("g") if "mark-symbol" in g.get("class", "")]
    return sum(len(g) for g in groups if "role-mark" in g.get("class"))


def test_the_first_figure_has_a_dot_for_every_figure_and_none_for_a_no_op():
    assert drawn_points(section(study()).figures[0]) == 5 * 2


def test_curves_start_at_clean_and_have_a_dot_for_every_severity():
    assert drawn_points(section(study()).figures[1]) == 3 * 2


@pytest.mark.parametrize("position", [0, 1])
def test_figures_say_what_they_show_to_who_cannot_see_them(position):
    figure = section(study()).figures[position]

    assert "2 models" in figure.alt
    assert "95 %" in figure.caption
