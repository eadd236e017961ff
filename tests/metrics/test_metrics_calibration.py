"""Bins, their edges, and what chance alone would give."""

import numpy as np
import pytest

from snellen.metrics import calibration


def test_bins_are_closed_above_and_the_first_holds_zero():
    confidence = np.array([0.0, 0.1, 0.1001, 0.2, 0.95, 1.0])
    table = calibration.reliability(confidence, np.ones(6, bool))

    assert table.n.tolist() == [2, 2, 0, 0, 0, 0, 0, 0, 0, 2]
    assert table.edges[[0, 1, -1]].tolist() == [0, 0.1, 1]


def test_a_confidence_on_an_edge_falls_below_it_however_it_is_stored():
    tenths = np.arange(1, 11) / 10
    expected = np.ones(10)

    for confidence in (tenths, tenths.astype(np.float32), tenths.astype(np.float32).astype(float)):
        table = calibration.reliability(confidence, np.ones(10, bool))
        np.testing.assert_array_equal(table.n, expected)


def test_an_empty_bin_has_no_confidence_and_no_accuracy():
    table = calibration.reliability(np.array([0.2, 0.4]), np.array([True, False]), n_bins=2)

    assert table.n.tolist() == [2, 0]
    assert table.accuracy.tolist() == [0.5, None]
    assert table.confidence.tolist() == [pytest.approx(0.3), None]


def test_ece_has_no_bin_of_its_own_for_confidence_one():
    # One bin: mean confidence .975, accuracy .5.
    error = calibration.ece(np.array([0.95, 1.0]), np.array([True, False]))

    assert error.item() == pytest.approx(0.475)


def test_ece_weighs_bins_by_their_clips():
    # Bin (0, .5]: one clip, |0 - .4|; bin (.5, 1]: three clips, |2 - 2.7|.
    error = calibration.ece(
        np.array([0.4, 0.9, 0.9, 0.9]), np.array([False, True, True, False]), n_bins=2
    )

    assert error.item() == pytest.approx((0.4 + 0.7) / 4)


@pytest.mark.train
def test_brier_is_scikit_learns_on_right_and_wrong():
    from sklearn.metrics import brier_score_loss

    rng = np.random.default_rng(0)
    confidence, correct, weight = rng.random(50), rng.random(50) < 0.6, rng.integers(0, 3, 50)
    expected = brier_score_loss(correct, confidence, sample_weight=weight)

    assert calibration.brier(confidence, correct, weight).item() == pytest.approx(expected)


def test_a_perfectly_calibrated_model_stays_in_its_null_band_as_often_as_promised():
    rng = np.random.default_rng(1)
    confidence = rng.uniform(0.3, 1, 154)
    band = calibration.ece_null(confidence, rng, replicates=2000)
    errors = [calibration.ece(confidence, rng.random(154) < confidence).item() for _ in range(1000)]

    # 50 of 1,000 above, give or take three standard deviations of that and of the band.
    assert 25 <= sum(error > band.high for error in errors) <= 80
    assert np.mean(errors) == pytest.approx(band.mean, rel=0.05)
    assert band.mean > 0.04  # far from 0: 154 clips cannot show a perfect score


def test_the_null_band_does_not_depend_on_how_much_is_held_at_a_time(monkeypatch):
    confidence = np.random.default_rng(2).random(20)
    whole = calibration.ece_null(confidence, np.random.default_rng(3), replicates=50)
    monkeypatch.setattr(calibration, "LABELS", 70)

    assert calibration.ece_null(confidence, np.random.default_rng(3), replicates=50) == whole


def test_an_overconfident_model_lies_above_its_band():
    rng = np.random.default_rng(4)
    confidence = rng.uniform(0.8, 1, 300)
    correct = rng.random(300) < confidence - 0.3

    assert (
        calibration.ece(confidence, correct).item() > 2 * calibration.ece_null(confidence, rng).high
    )
