"""The main job on the real recordings beside the project: the order of the rungs, and the flip."""

import os

import pytest

from snellen.core.cells import Measured
from snellen.tasks.isolated.data import read
from snellen.tasks.isolated.run import RunSettings, run

pytestmark = [pytest.mark.shared, pytest.mark.train, pytest.mark.slow]

WORKERS = min(2, os.cpu_count() or 1)


def silent(stage, done, total):
    pass


def accuracies(ladder):
    return {(cell.model, cell.protocol): cell.accuracy.value for cell in ladder.cells}


@pytest.fixture(scope="module")
def auslan(tmp_path_factory, request):
    data = request.getfixturevalue("shared_data") / "auslan_uci"
    settings = RunSettings(
        models=("lda", "trees"), protocols=("random", "session", "signer"), workers=WORKERS
    )
    return run(read(data), tmp_path_factory.mktemp("runs") / "auslan", settings, silent)


def test_on_auslan_each_stricter_protocol_costs_both_models(auslan):
    right = accuracies(auslan.ladder)

    for model in ("lda", "trees"):
        assert right[model, "random"] > right[model, "session"] > right[model, "signer"]
    # Measured elsewhere with other features: trees 80.1 and 23.9, LDA 52.6 and 27.1.
    assert right["trees", "random"] == pytest.approx(0.80, abs=0.02)
    assert right["trees", "signer"] == pytest.approx(0.24, abs=0.03)
    assert right["lda", "signer"] == pytest.approx(0.31, abs=0.03)


def test_on_auslan_the_random_split_picks_the_model_that_new_signers_refuse(auslan):
    winners = [winner.model for winner in auslan.ladder.winners]
    assert (winners[0], winners[-1]) == ("trees", "lda")
    assert auslan.ladder.flip
    assert auslan.ladder.headline == "signer"


def test_on_auslan_the_leak_is_worth_more_than_its_interval(auslan):
    for gap in auslan.ladder.gaps:
        assert isinstance(gap.difference, Measured)
        assert gap.difference.low > 0.1
        assert gap.difference.groups == 5


def test_on_auslan_gestures_outside_the_vocabulary_are_asked_and_count_as_false_alarms(auslan):
    (card,) = [x for x in auslan.cards if (x.model, x.protocol) == ("lda", "signer")]

    assert card.intake.expected == 6756
    assert card.score("accuracy").n == 6648
    assert card.score("false_alarms", "out of vocabulary").n == 108
    assert card.score("false_alarms", "out of vocabulary").value == 1.0


def test_on_isl_kinect_new_signers_cost_lda_several_points(tmp_path, shared_data):
    settings = RunSettings(models=("lda",), workers=WORKERS)
    data = read(shared_data / "isl_kinect30" / "isl_kinect30_small.npz")

    ladder = run(data, tmp_path / "isl", settings, silent).ladder

    right = accuracies(ladder)
    assert [rung.protocol for rung in ladder.rungs] == ["random", "signer"]
    # Measured elsewhere with other features: 86.4 random, 80.4 on new signers.
    assert 0.84 < right["lda", "random"] < 0.93
    assert 0.76 < right["lda", "signer"] < right["lda", "random"] - 0.03
