"""The gate section: sentences, tables and CSV are made of the result and agree with it."""

import json

import numpy as np
import pytest
import vl_convert

from snellen.core.study import Judged
from snellen.report.markdown import section_markdown
from snellen.report.section_files import figure_png, table_csv
from snellen.report.studies.gate import section
from snellen.studies.gate import study_gate

SIGNERS = tuple(f"S{k % 10}" for k in range(1000))


def rows(rng, n, sharpness, protocol, role, model="gru"):
    """Confidences from 0.5 to 1, right as often as a power of them says."""
    confidence = rng.uniform(0.5, 1, n)
    first = (rng.random(n) >= confidence**sharpness).astype(np.int64)
    return Judged(
        protocol=protocol,
        model=model,
        role=role,
        items=tuple(f"{role}{k}" for k in range(n)),
        rounds=np.zeros(n, dtype=np.int64),
        truth=np.full(n, -1 if role == "out of vocabulary" else 0),
        ranked=np.stack([first, 1 - first], axis=1),
        confidence=np.stack([confidence, 1 - confidence], axis=1),
        groups=SIGNERS[:n] if protocol == "signer" else None,
    )


@pytest.fixture(scope="module")
def result():
    rng = np.random.default_rng(3)
    judged = [
        rows(rng, 1000, 1, "random", "validation"),
        rows(rng, 1000, 1, "random", "test"),
        rows(rng, 1000, 2, "signer", "validation"),
        rows(rng, 1000, 2, "signer", "test"),
        rows(rng, 100, 2, "signer", "out of vocabulary"),
    ]
    return study_gate(judged, targets=(0.7, 0.8), threshold=0.72)


@pytest.fixture(scope="module")
def alone():
    return study_gate([rows(np.random.default_rng(3), 20, 1, "signer", "validation")])


def table(shown, name):
    return next(x for x in shown.tables if x.name == name)


def test_each_table_has_a_file_name_and_csv_rows_as_wide_as_their_head(result):
    shown = section(result)

    assert [x.name for x in shown.tables] == [
        "threshold_sweep", "gate_thresholds", "gate_transfer", "gate_unknown", "gate_conformal",
        "gate_calibration",
    ]  # fmt: skip
    for part in shown.tables:
        assert part.rows
        assert {len(row) for row in part.rows} == {len(part.head)}
        assert {len(row) for row in part.csv_rows} == {len(part.csv_head)}


def test_the_sweep_s_csv_holds_every_threshold_of_every_protocol(result):
    sweep = table(section(result), "threshold_sweep")

    # 0.00 to 1.00 by 0.05, and 0.72.
    assert len(sweep.csv_rows) == 2 * 22
    named = [dict(zip(sweep.csv_head, row, strict=True)) for row in sweep.csv_rows]
    first = named[0]
    assert (first["threshold"], first["coverage"], first["n"]) == (0.0, 1.0, 1000)
    assert first["selective_accuracy"] == first["right"] / first["answered"]
    assert first["selective_accuracy_low"] < first["floor"] < first["selective_accuracy"]
    assert named[-1]["selective_accuracy"] == "not measurable"
    assert {row["threshold"] for row in named} >= {0.5, 0.6, 0.7, 0.72, 0.75, 0.85, 0.95}
    assert [row[1] for row in sweep.rows] == [
        "0.00", "0.50", "0.60", "0.70", "0.72", "0.75", "0.85", "0.95",
    ]  # fmt: skip


def test_sentences_and_tables_say_the_same_of_the_threshold_validation_would_choose(result):
    shown = section(result)
    text = " ".join(shown.sentences)
    chosen = {(row[1]): row[2] for row in table(shown, "gate_thresholds").rows}

    assert f"would choose {chosen['80.0 % by its floor']} (by the share itself" in text
    assert "0.70 is a starting point" in text
    assert "no test clip chose anything" in text
    assert "gru at 0.72 answers" in text
    assert "Of 100 clips that show no sign of the vocabulary, gru at 0.72 answers" in text


def test_a_gate_from_leaky_clips_is_said_to_miss_its_target_under_the_strict_protocol(result):
    shown = section(result)
    row = next(
        row
        for row in table(shown, "gate_transfer").rows
        if row[1:3] == ("random", "80.0 % by the share")
    )

    assert row[-1] == "missed"
    (sentence,) = [x for x in shown.sentences if x.startswith("Set by the share itself on random")]
    assert sentence.endswith("the target is missed.")
    assert row[5] in sentence


def test_what_was_not_measured_is_said(result, alone):
    assert len(section(result).not_measured) == 1
    lone = section(alone)
    assert [x.split(":")[0] for x in lone.not_measured] == [
        "What these thresholds do on test clips",
        "What the gate lets through that is no sign of the vocabulary",
        "What people do with UNCERTAIN",
    ]
    assert not any("temperature" in x for x in lone.sentences)


def test_a_target_out_of_reach_has_a_sentence_with_its_reason(alone):
    (sentence,) = [x for x in section(alone).sentences if x.startswith("For 95.0 %")]

    assert "would choose no threshold: no threshold reaches the target on 20 validation" in sentence


def test_the_figure_draws_two_curves_with_bands_and_renders(result):
    figure = section(result).figures[0]
    values = figure.spec["data"]["values"]

    assert figure.name == "threshold_sweep"
    assert {row["series"] for row in values} == {"answered", "right among the answered"}
    assert all(row["low"] <= row["value"] <= row["high"] for row in values)
    assert "answered" in vl_convert.vegalite_to_svg(json.loads(json.dumps(figure.spec)))
    assert figure_png(figure).startswith(b"\x89PNG")


def test_the_section_reads_the_same_in_markdown_and_csv_for_a_hostile_model_name():
    rng = np.random.default_rng(3)
    name = "=cmd|<b>x</b>"
    shown = section(study_gate([rows(rng, 20, 1, "signer", "validation", model=name)]))

    assert "<b>" not in section_markdown(shown)
    assert b"\n'=cmd|<b>x</b>,signer" in table_csv(shown.tables[0])
