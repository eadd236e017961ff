from dataclasses import replace

import numpy as np
import pytest

from snellen.core.split import TEST, TRAIN, VALIDATION, Split
from snellen.errors import BadInput
from snellen.tasks.isolated.align import Prepared
from snellen.tasks.isolated.model import TrainingData
from snellen.tasks.isolated.regime import REFERENCE, SNELLEN
from snellen.tasks.isolated.training import (
    Trained,
    Tuition,
    answers_of,
    fit_round,
    held_table,
    temperature_of,
)

TUITION = Tuition(SNELLEN, seed=0)


class Fixed:
    """A model that answers what it was told and remembers what it was shown."""

    def __init__(self, logs):
        self.logs = np.asarray(logs)

    def log_probabilities(self, values, mask):
        return self.logs[values[:, 0, 0].astype(int)]

    def arrays(self):
        return {"logs": self.logs}


class Recorder:
    """A model module that records which clips each fit saw."""

    SETTINGS = {"model": "recorder"}

    def __init__(self, logs):
        self.logs = logs
        self.seen = []

    def fit(self, data: TrainingData, seed: int):
        self.seen.append(sorted(data.values[:, 0, 0].astype(int).tolist()))
        return Fixed(self.logs)


def prepared(n):
    values = np.tile(np.arange(n, dtype=np.float32)[:, None, None], (1, 3, 2))
    items = tuple(f"c{k}" for k in range(n))
    return Prepared(items, values, np.ones((n, 3, 1), bool), {"layout": "toy"})


def split(roles):
    items = tuple(f"c{k}" for k in range(len(roles)))
    return Split("toy", None, 0, items, np.array([roles], np.int8), {})


LOGS = np.log([[0.7, 0.3], [0.7, 0.3], [0.3, 0.7], [0.6, 0.4]])


def test_test_clips_are_never_shown_to_a_fit():
    module = Recorder(LOGS)
    roles = [TRAIN, TRAIN, VALIDATION, TEST]

    fit_round(module, prepared(4), np.array([0, 0, 1, 1]), 2, split(roles), 0, TUITION)

    assert module.seen == [[0, 1], [0, 1, 2]]


def test_without_validation_there_is_one_fit_and_no_temperature():
    module = Recorder(LOGS)

    roles = [TRAIN, TRAIN, TRAIN, TEST]

    fitted = fit_round(module, prepared(4), np.array([0, 0, 1, 1]), 2, split(roles), 0, TUITION)

    assert module.seen == [[0, 1, 2]]
    assert fitted.trained.temperature is None
    assert len(fitted.held) == 0


def test_a_round_without_training_clips_is_refused():
    with pytest.raises(BadInput, match="round 0 has no training clip"):
        fit_round(Recorder(LOGS), prepared(2), np.zeros(2, int), 2, split([TEST, TEST]), 0, TUITION)


def test_the_temperature_makes_stated_confidence_match_what_is_right():
    # Says .9 each time and is right in 3 of 4: the best temperature says .75.
    logs = np.log(np.tile([0.9, 0.1], (4, 1)))

    temperature = temperature_of(logs, np.array([0, 0, 0, 1]))

    # .9/.1 to the power 1/T is .75/.25, so T = log 9 / log 3 = 2.
    assert temperature == pytest.approx(2.0, rel=1e-3)


def test_clips_of_a_class_never_trained_say_nothing_about_the_temperature():
    logs = np.log(np.tile([0.9, 0.1], (4, 1)))
    with_unseen = np.concatenate([logs, logs[:2]])
    with_unseen = np.pad(with_unseen, ((0, 0), (0, 1)), constant_values=-np.inf)

    temperature = temperature_of(with_unseen, np.array([0, 0, 0, 1, 2, 2]))

    assert temperature == pytest.approx(2.0, rel=1e-3)


def test_answers_are_ranked_with_confidences_and_ties_keep_the_vocabulary_order():
    trained = Trained(Fixed(np.log([[0.2, 0.6, 0.2]])), None)

    answers = answers_of(trained, prepared(1), ("a", "b", "c"), np.array([0])).to_pylist()

    assert [(row["rank"], row["label"]) for row in answers] == [(1, "b"), (2, "a"), (3, "c")]
    assert [row["confidence"] for row in answers] == pytest.approx([0.6, 0.2, 0.2])


def test_a_temperature_changes_confidence_and_not_the_answer():
    plain = Trained(Fixed(np.log([[0.9, 0.1]])), None)
    cooled = Trained(Fixed(np.log([[0.9, 0.1]])), 2.0)
    one, two = (
        answers_of(x, prepared(1), ("a", "b"), np.array([0])).to_pylist() for x in (plain, cooled)
    )

    assert (one[0]["label"], two[0]["label"]) == ("a", "a")
    assert (one[0]["confidence"], two[0]["confidence"]) == pytest.approx((0.9, 0.75))


def test_what_is_kept_of_validation_clips_was_said_before_the_refit_on_them():
    module = Recorder(LOGS)
    module.later = np.log([[0.5, 0.5]] * 4)

    def fit(data, seed, seen=module.seen):
        seen.append(len(data.labels))
        return Fixed(LOGS if len(seen) == 1 else module.later)

    module.fit = fit
    roles = [TRAIN, TRAIN, VALIDATION, TEST]

    fitted = fit_round(module, prepared(4), np.array([0, 0, 1, 1]), 2, split(roles), 0, TUITION)

    rows = held_table(fitted, prepared(4), ("a", "b"), 0).to_pylist()
    assert module.seen == [2, 3]
    assert [(row["round"], row["item"], row["label"]) for row in rows] == [
        (0, "c2", "b"),
        (0, "c2", "a"),
    ]
    assert fitted.trained.model.logs is module.later


class Epochs:
    """A model trained in epochs that records how each training was asked for."""

    SETTINGS = {"model": "epochs"}

    def __init__(self):
        self.asked = []

    def learn(self, data, held, course):
        self.asked.append((len(data.labels), held and len(held.labels), course.rates, course.start))
        return Fixed(LOGS)


def test_a_model_that_learns_in_epochs_goes_on_from_its_best_epoch_on_both():
    module = Epochs()
    roles = [TRAIN, TRAIN, VALIDATION, TEST]

    fit_round(module, prepared(4), np.array([0, 0, 1, 1]), 2, split(roles), 0, TUITION)

    (first, again) = module.asked
    assert first == (2, 1, None, None)
    assert again[:3] == (3, None, SNELLEN.refit_rates)
    assert again[3]["logs"] is LOGS


def test_a_regime_without_a_refit_tests_what_was_fitted_on_train_alone():
    closed, epochs = Recorder(LOGS), Epochs()
    roles = [TRAIN, TRAIN, VALIDATION, TEST]

    for module in (closed, epochs):
        tuition = Tuition(REFERENCE, seed=0)
        fit_round(module, prepared(4), np.array([0, 0, 1, 1]), 2, split(roles), 0, tuition)

    assert closed.seen == [[0, 1]]
    assert [asked[0] for asked in epochs.asked] == [2]


def test_the_refit_starts_at_a_third_of_the_rate_and_ends_near_zero():
    rates = replace(SNELLEN, epochs=8, refit_share=0.25, learning_rate=1.0).refit_rates

    # Two epochs, in the middle of each half of half a wave: .3 (1 + cos 45 deg) / 2, and 135.
    assert rates == pytest.approx((0.3 * 0.853553, 0.3 * 0.146447), rel=1e-5)


def test_a_clip_out_of_vocabulary_teaches_nothing():
    module = Recorder(LOGS)
    roles = [TRAIN, TRAIN, TRAIN, TEST]

    fit_round(module, prepared(4), np.array([0, -1, 1, 1]), 2, split(roles), 0, TUITION)

    assert module.seen == [[0, 2]]


def test_a_clip_in_which_nothing_was_detected_is_not_answered():
    dark = prepared(2)
    dark.mask[1] = False
    values = dark.values.copy()
    values[0] = 1
    dark = Prepared(dark.items, values, dark.mask, dark.settings)
    trained = Trained(Fixed(np.log([[0.7, 0.3], [0.7, 0.3]])), None)

    rows = answers_of(trained, dark, ("a", "b"), np.array([0, 1])).to_pylist()

    assert [(row["item"], row["rank"], row["label"]) for row in rows] == [
        ("c0", 1, "a"),
        ("c0", 2, "b"),
        ("c1", 1, None),
    ]
    assert rows[2]["confidence"] is None
