"""A study made by hand: nearest-mean models on a made-up corpus, tested signer by signer."""

from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest
from scipy.special import log_softmax

from snellen.core.cells import Measured, NotApplicable
from snellen.core.stress import Effect, NoOp, StressStudy
from snellen.core.study import Study, Subject, Trained
from snellen.signal.keypoints import Keypoints, gather
from snellen.signal.layouts import layout_by_name
from snellen.signal.perturb import CLEAN, CONDITIONS, conditions_by_name
from snellen.studies.stress import study_stress
from snellen.tasks.isolated.align import prepare
from snellen.tasks.isolated.synthetic import Settings, make_corpus

FRAMES = 16
SHARPNESS = 40.0


@pytest.fixture(scope="module")
def planted():
    return make_corpus(Settings(), np.random.default_rng(0))


def recipe(name="snellen-1"):
    def prepared(keypoints: Keypoints):
        made = prepare(keypoints, preprocessing=name, frames=FRAMES)
        return made.values, made.mask

    return prepared


def nearest_mean(values, labels, rows, classes):
    """Log-probabilities from the distance to each class's mean clip; the mask is not read."""
    flat = values.reshape(len(values), -1)
    means = np.stack([flat[rows][labels[rows] == k].mean(axis=0) for k in range(classes)])

    def answer(values, mask):
        flat = values.reshape(len(values), -1)
        distance = np.linalg.norm(flat[:, None] - means[None], axis=2)
        return log_softmax(-SHARPNESS * distance / np.sqrt(flat.shape[1]), axis=1)

    return answer


def always(classes):
    logs = np.log(np.full(classes, 1 / classes))
    return lambda values, mask: np.tile(logs, (len(values), 1))


def by_mask(classes):
    """Answers class 0 where every point was seen, else class 1: a model that reads the mask."""

    def answer(values, mask):
        sure = np.full((len(values), classes), -np.inf)
        sure[np.arange(len(values)), np.where(mask.all(axis=(1, 2)), 0, 1)] = 0.0
        return sure

    return answer


def subject(model, loaded):
    return Subject(
        model=model,
        rounds=tuple(range(len(loaded))),
        load=lambda number: loaded[number],
        parameters=None,
        folder=Path(),
    )


def signers_out(keypoints, labels, groups, classes, *, name="snellen-1", models=None):
    """A study in which every group is tested by models fitted on the others."""
    values, _ = recipe(name)(keypoints)
    names = np.array(groups)
    rounds = []
    for number, group in enumerate(sorted(set(groups))):
        tested = np.flatnonzero(names == group)
        rows = np.flatnonzero((names != group) & (labels >= 0))
        rounds.append((number, tested, nearest_mean(values, labels, rows, classes)))
    means = [Trained(number, tested, answer) for number, tested, answer in rounds]
    subjects = [subject("means", means)]
    for model, answer in (models or {}).items():
        loaded = [Trained(number, tested, answer) for number, tested, _ in rounds]
        subjects.append(subject(model, loaded))
    return Study(
        corpus="made up",
        protocol="signer",
        protects="signer",
        items=keypoints.items,
        labels=labels,
        groups=tuple(groups),
        vocabulary=tuple(f"sign {k}" for k in range(classes)),
        keypoints=keypoints,
        prepare=recipe(name),
        preprocessing=name,
        frames=FRAMES,
        subjects=tuple(subjects),
    )


@pytest.fixture(scope="module")
def study(planted):
    corpus = planted.corpus
    classes = len(corpus.vocabulary)
    models = {"always": always(classes), "mask reader": by_mask(classes)}
    groups = corpus.column("signer")
    return signers_out(planted.keypoints, corpus.classes, groups, classes, models=models)


@pytest.fixture(scope="module")
def result(study):
    return study_stress(study, seed=1)


@pytest.fixture(scope="module")
def strict(study):
    return study_stress(study, seed=1, strict=True, curves=False)


def cut(study, names):
    """The study with these conditions only, without curves."""
    return study_stress(study, conditions=conditions_by_name(names), curves=False, seed=1)


def test_clean_is_the_accuracy_over_all_rounds_and_compared_with_nothing(study, result):
    rounds = [study.subjects[0].load(number) for number in study.subjects[0].rounds]
    values, mask = study.prepare(study.keypoints)
    right = sum(
        int((r.answer(values[r.tested], mask[r.tested]).argmax(1) == study.labels[r.tested]).sum())
        for r in rounds
    )

    clean = result.outcome("means", "clean")

    assert 0.3 < clean.accuracy.value < 1
    assert clean.accuracy.value == pytest.approx(right / len(study.items))
    assert (clean.accuracy.n, clean.accuracy.groups) == (576, len(set(study.groups)))
    assert isinstance(clean.delta, NotApplicable)
    assert clean.changed == 0


def test_every_model_stands_under_every_condition_once(result):
    asked = {condition.name for condition in result.conditions}
    drawn = {point.name for curve in result.curves for point in curve.conditions}

    assert [c.name for c in result.conditions] == [c.name for c in CONDITIONS]
    expected = {(model, name) for model in result.models for name in asked | drawn}
    found = [(row.model, row.condition) for row in result.rows]
    assert set(found) == expected
    assert len(found) == len(expected) == 3 * 21


def test_losing_hands_costs_what_the_answers_say(study, result):
    both = result.outcome("means", "both_hands_missing")
    clean = result.outcome("means", "clean")

    assert both.delta.value == pytest.approx(both.accuracy.value - clean.accuracy.value)
    assert both.delta.value < -0.1
    assert both.delta.low < both.delta.value < both.delta.high < 0
    assert both.delta.groups == clean.accuracy.groups
    assert both.changed == 576
    assert 0 <= both.mean_confidence <= 1


def test_the_share_below_the_gate_is_counted_at_seventy_percent(study):
    logs = np.log(np.array([[0.69, 0.31], [0.70, 0.30], [0.71, 0.29]]))
    three = Trained(0, np.array([5, 6, 7]), lambda values, mask: logs)
    labels = study.labels.copy()
    labels[5:8] = [0, 1, 0]
    study = replace(
        study, labels=labels, groups=None, protects=None, subjects=(subject("fixed", [three]),)
    )

    clean = cut(study, ["clean"]).outcome("fixed", "clean")

    assert clean.below_gate.value == pytest.approx(1 / 3)
    assert clean.mean_confidence == pytest.approx(0.70)
    assert clean.accuracy.value == pytest.approx(2 / 3)
    assert clean.accuracy.method == "Wilson, assumes independent clips"


def test_a_model_that_reads_nothing_has_no_ops_and_never_a_measured_zero(result):
    outcomes = [row.outcome for row in result.rows if row.model == "always"]

    assert sum(isinstance(outcome, Effect) for outcome in outcomes) == 1  # clean
    assert {type(outcome) for outcome in outcomes} == {Effect, NoOp}
    assert "bit for bit" in result.outcome("always", "jitter_0.50").reason


def test_zeroing_the_mask_reaches_only_the_model_that_reads_it(result):
    assert isinstance(result.outcome("means", "mask_missing"), NoOp)
    assert isinstance(result.outcome("mask reader", "mask_missing"), Effect)


def test_a_preprocessing_without_mask_has_none_to_zero(planted):
    classes = len(planted.corpus.vocabulary)
    study = signers_out(
        planted.keypoints,
        planted.corpus.classes,
        planted.corpus.column("signer"),
        classes,
        name="reference",
        models={"mask reader": by_mask(classes)},
    )
    names = ["left_hand_missing", "mask_missing"]
    chosen = conditions_by_name(names)

    found = study_stress(study, conditions=chosen, curves=False, strict=True, seed=1)

    for model in found.models:
        assert found.outcome(model, "mask_missing").reason.startswith("the preprocessing keeps no")
    # Nor does a hand that is taken away show in a mask that never told of one.
    assert isinstance(found.outcome("means", "left_hand_missing"), Effect)
    assert isinstance(found.outcome("mask reader", "left_hand_missing"), NoOp)


def test_a_condition_that_changes_no_recording_is_a_no_op(planted):
    """One frame a clip: none can be dropped."""
    keypoints = planted.keypoints
    clips = [tuple(part[:1] for part in keypoints.clip(k)) for k in range(len(keypoints))]
    short = gather(keypoints.layout, keypoints.items, clips)
    classes = len(planted.corpus.vocabulary)
    study = signers_out(short, planted.corpus.classes, planted.corpus.column("signer"), classes)

    found = cut(study, ["frame_drop_60", "subsample_2x", "jitter_0.50"])

    for name in ("frame_drop_60", "subsample_2x"):
        assert found.outcome("means", name).reason.startswith("nothing the models are fed")
    assert isinstance(found.outcome("means", "jitter_0.50"), Effect)


def test_a_hand_that_was_never_seen_cannot_be_missed(planted):
    keypoints = planted.keypoints
    at = keypoints.layout.points.index("left_wrist")
    present = keypoints.present.copy()
    present[:, [at, *range(8, 10)]] = False
    blind = replace(
        keypoints, present=present, values=np.where(present[..., None], keypoints.values, 0)
    )
    classes = len(planted.corpus.vocabulary)
    study = signers_out(blind, planted.corpus.classes, planted.corpus.column("signer"), classes)

    found = cut(study, ["left_hand_missing", "right_hand_missing"])

    assert isinstance(found.outcome("means", "left_hand_missing"), NoOp)
    assert found.outcome("means", "right_hand_missing").changed == 576


def test_a_layout_without_the_hand_is_not_applicable():
    generator = np.random.default_rng(0)
    glove = layout_by_name("powerglove-8")
    labels = np.arange(24) % 2
    clips = [
        (generator.normal(size=(10, 8, 1)) + 3 * label, np.ones((10, 8), dtype=bool))
        for label in labels
    ]
    keypoints = gather(glove, [f"c{k:02d}" for k in range(24)], clips)
    study = signers_out(keypoints, labels, [f"s{k // 8}" for k in range(24)], 2)

    for strict in (False, True):
        found = study_stress(study, curves=False, strict=strict, seed=1)
        assert isinstance(found.outcome("means", "left_hand_missing"), NotApplicable)
        assert isinstance(found.outcome("means", "right_hand_missing"), Effect)
        assert found.noise_unit.startswith("standard deviations of each channel")


def test_models_are_fed_the_same_disturbed_arrays(study):
    seen = []

    def watched(original):
        def load(number):
            trained = original.load(number)

            def answer(values, mask):
                seen.append((original.model, number, values.tobytes(), mask.tobytes()))
                return trained.answer(values, mask)

            return replace(trained, answer=answer)

        return replace(original, load=load)

    twice = replace(study, subjects=(watched(study.subjects[0]), watched(study.subjects[2])))

    cut(twice, ["jitter_0.25", "dropout_30"])

    first = [rest for model, *rest in seen if model == "means"]
    second = [rest for model, *rest in seen if model == "mask reader"]
    assert first == second
    assert len(first) == 3 * len(study.subjects[0].rounds)


def test_each_round_is_read_from_disk_once(study):
    loads = []

    def load(number):
        loads.append(number)
        return study.subjects[0].load(number)

    cut(
        replace(study, subjects=(replace(study.subjects[0], load=load),)),
        ["jitter_0.25", "dropout_30"],
    )

    assert loads == list(study.subjects[0].rounds)


def test_a_condition_draws_the_same_whatever_else_is_measured(study, result):
    alone = cut(study, ["jitter_0.50"])

    assert alone.outcome("means", "jitter_0.50") == result.outcome("means", "jitter_0.50")
    assert alone.conditions[0].name == CLEAN.name
    assert alone.curves == ()


def test_another_seed_draws_otherwise(study, result):
    other = study_stress(
        study, conditions=conditions_by_name(["jitter_0.50"]), curves=False, seed=2
    )

    assert other.outcome("means", "jitter_0.50") != result.outcome("means", "jitter_0.50")
    assert other.outcome("means", "clean") == result.outcome("means", "clean")


def test_strict_disturbs_what_the_models_are_fed(result, strict):
    assert strict.strict
    assert not result.strict
    assert strict.outcome("means", "clean") == result.outcome("means", "clean")
    for name in ("jitter_0.50", "dropout_30", "frame_drop_60"):
        assert strict.outcome("means", name).changed > 500
        assert strict.outcome("means", name) != result.outcome("means", name)


def test_a_hand_is_the_same_points_before_and_after_preprocessing(result, strict):
    """This recipe writes a point that is never seen as 0: both ways must meet there."""
    for name in ("left_hand_missing", "right_hand_missing", "both_hands_missing"):
        assert strict.outcome("means", name) == result.outcome("means", name)
        assert strict.outcome("mask reader", name) == result.outcome("mask reader", name)


def test_clips_out_of_the_vocabulary_are_not_scored(study):
    labels = study.labels.copy()
    labels[:100] = -1

    found = cut(replace(study, labels=labels), ["left_hand_missing"])

    assert found.outcome("means", "clean").accuracy.n == 476
    assert found.outcome("means", "left_hand_missing").changed == 476


def test_progress_ends_where_it_said(study):
    heard = []

    study_stress(
        study,
        conditions=conditions_by_name(["subsample_2x"]),
        curves=False,
        seed=1,
        progress=lambda stage, done, total: heard.append((stage, done, total)),
    )

    assert heard == [("stress", 0, 2), ("stress", 1, 2), ("stress", 2, 2)]


def test_a_study_is_read_back_from_its_json(strict):
    assert msgspec.json.decode(msgspec.json.encode(strict), type=StressStudy) == strict


def test_intervals_are_cells_like_any_others(result):
    measured = [row.outcome for row in result.rows if isinstance(row.outcome, Effect)]

    assert all(isinstance(outcome.accuracy, Measured) for outcome in measured)
    assert all(0 <= outcome.below_gate.low <= outcome.below_gate.high <= 1 for outcome in measured)
