import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from snellen.errors import BadInput, Mismatch
from snellen.tasks.isolated.model import Course, TrainingData, gru, landolt
from snellen.tasks.isolated.model.neural import training
from snellen.tasks.isolated.regime import REFERENCE, SNELLEN

EPOCHS = 4
REGIME = replace(REFERENCE, epochs=EPOCHS, batch=16)


def clips(n_each=16, classes=3, seed=0):
    """Clips whose class is the height of their first channel; class 3 of 4 is never shown."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(classes), n_each)
    values = rng.normal(scale=0.3, size=(len(labels), 12, 6)).astype(np.float32)
    values[:, :, 0] += labels[:, None]
    return TrainingData(values, np.ones((len(labels), 12, 2), bool), labels, 4)


def same(one, other):
    return one.keys() == other.keys() and all(
        one[name].dtype == other[name].dtype and np.array_equal(one[name], other[name])
        for name in one
    )


class Killed(Exception):
    pass


def kill_after(epoch):
    def on_epoch(done, most):
        if done == epoch:
            raise Killed

    return on_epoch


@pytest.fixture(scope="module")
def whole():
    """A training nobody interrupted."""
    return gru.learn(clips(), clips(seed=1), Course(REGIME, seed=3))


@pytest.fixture(scope="module")
def averaged():
    """Our own network under its regime: new augmentation every epoch, averaged weights."""
    regime = replace(SNELLEN, epochs=6, batch=8, averaging=0.8)
    return landolt.learn(clips(), clips(seed=1), Course(regime, seed=3))


@pytest.mark.train
def test_a_network_learns_what_is_easy_and_gives_no_share_to_a_class_it_never_saw(averaged):
    new = clips(seed=2)

    logs = averaged.log_probabilities(new.values, new.mask)

    assert (logs.argmax(axis=1) == new.labels).mean() > 0.9
    assert np.isneginf(logs[:, 3]).all()
    np.testing.assert_allclose(np.exp(logs).sum(axis=1), 1)


@pytest.mark.train
def test_clips_without_a_single_point_are_answered_with_shares_too(averaged):
    empty = np.zeros((2, 12, 6), np.float32)

    logs = averaged.log_probabilities(empty, np.zeros((2, 12, 2), bool))

    np.testing.assert_allclose(np.exp(logs).sum(axis=1), 1)


@pytest.mark.train
def test_a_killed_training_with_averaged_weights_goes_on_and_ends_with_the_same(averaged, tmp_path):
    checkpoint = tmp_path / "fit.npz"
    regime = replace(SNELLEN, epochs=6, batch=8, averaging=0.8)
    killed = Course(regime, 3, checkpoint=checkpoint, on_epoch=kill_after(3))
    with pytest.raises(Killed):
        landolt.learn(clips(), clips(seed=1), killed)

    resumed = landolt.learn(clips(), clips(seed=1), replace(killed, on_epoch=None))

    assert same(resumed.arrays(), averaged.arrays())


@pytest.mark.train
def test_a_refit_goes_on_from_the_weights_it_is_given(averaged):
    still = replace(SNELLEN, averaging=0.0, weight_decay=0.0, batch=8)
    start = averaged.arrays()

    # At a rate of zero nothing may change: the constants of the inputs neither.
    course = Course(still, 9, rates=(0.0,), start=start)
    refitted = landolt.learn(clips(seed=5), None, course).arrays()

    assert same({**refitted, "rates": start["rates"]}, start)


@pytest.mark.train
def test_what_is_stored_is_all_that_is_needed(whole):
    new = clips(seed=2)

    again = gru.from_arrays(whole.arrays())

    np.testing.assert_array_equal(
        again.log_probabilities(new.values, new.mask), whole.log_probabilities(new.values, new.mask)
    )
    assert again.rates == whole.rates
    # GRU 128 over 6 channels, GRU 64 over 128, dense 64 to 128, dense 128 to 4.
    assert (
        whole.parameters == 3 * 128 * (6 + 128 + 2) + 3 * 64 * (128 + 64 + 2) + 65 * 128 + 129 * 4
    )


@pytest.mark.train
def test_a_killed_training_goes_on_and_ends_with_the_same_weights(whole, tmp_path):
    checkpoint = tmp_path / "fit.npz"
    heard = []
    with pytest.raises(Killed):
        gru.learn(
            clips(), clips(seed=1), Course(REGIME, 3, checkpoint=checkpoint, on_epoch=kill_after(2))
        )
    assert checkpoint.exists()

    resumed = gru.learn(
        clips(),
        clips(seed=1),
        Course(
            REGIME,
            3,
            checkpoint=checkpoint,
            on_epoch=lambda done, most: heard.append((done, most)),
        ),
    )

    assert heard == [(3, EPOCHS), (4, EPOCHS)]
    assert same(resumed.arrays(), whole.arrays())

    heard.clear()
    finished = gru.learn(
        clips(),
        clips(seed=1),
        Course(REGIME, 3, checkpoint=checkpoint, on_epoch=lambda done, most: heard.append(done)),
    )

    assert heard == []
    assert same(finished.arrays(), whole.arrays())


@pytest.mark.train
def test_a_checkpoint_of_other_clips_or_another_seed_is_refused(tmp_path):
    checkpoint = tmp_path / "fit.npz"
    with pytest.raises(Killed):
        gru.learn(
            clips(), clips(seed=1), Course(REGIME, 3, checkpoint=checkpoint, on_epoch=kill_after(1))
        )

    with pytest.raises(Mismatch) as refused:
        gru.learn(clips(seed=9), clips(seed=1), Course(REGIME, 4, checkpoint=checkpoint))

    assert sorted(refused.value.fields) == ["seed", "training clips"]
    assert refused.value.fields["seed"] == ("3", "4")
    assert checkpoint.exists()


@pytest.mark.train
def test_a_damaged_checkpoint_is_refused(tmp_path):
    checkpoint = tmp_path / "fit.npz"
    checkpoint.write_bytes(b"PK\x03\x04 and nothing more")

    with pytest.raises(BadInput, match=r"fit\.npz"):
        gru.learn(clips(), None, Course(REGIME, 3, checkpoint=checkpoint))


@pytest.mark.train
def test_the_same_seed_gives_the_same_weights_whatever_was_trained_between(whole):
    other = gru.learn(clips(), clips(seed=1), Course(REGIME, seed=4))
    again = gru.learn(clips(), clips(seed=1), Course(REGIME, seed=3))

    assert not same(other.arrays(), whole.arrays())
    assert same(again.arrays(), whole.arrays())


@pytest.mark.train
def test_a_refit_trains_the_given_epochs_and_looks_at_no_validation_clip(whole):
    heard = []
    course = Course(
        REGIME, 3, rates=(1e-3, 5e-4), on_epoch=lambda done, most: heard.append((done, most))
    )

    plain = gru.learn(clips(), None, course)
    shown = gru.learn(clips(), clips(seed=1), course)

    assert heard == [(1, 2), (2, 2)] * 2
    assert plain.rates == (1e-3, 5e-4)
    assert same(plain.arrays(), shown.arrays())


@pytest.mark.train
def test_training_stops_when_validation_no_longer_gets_better_and_keeps_the_best_epoch():
    # Validation clips with the labels turned round: every epoch reads them worse.
    held = clips(seed=1)
    turned = TrainingData(held.values, held.mask, (held.labels + 1) % 3, 4)
    heard = []

    learnt = gru.learn(
        clips(),
        turned,
        Course(
            replace(REGIME, epochs=40, patience=2, learning_rate=3e-3),
            seed=3,
            on_epoch=lambda done, most: heard.append(done),
        ),
    )

    assert len(heard) == len(learnt.rates) + 2
    assert len(heard) < 10


@pytest.mark.train
def test_a_single_class_and_fewer_clips_than_a_batch_are_learnt():
    one = clips(n_each=3, classes=1)

    learnt = gru.learn(one, clips(n_each=2), Course(replace(REGIME, epochs=1), seed=0))
    logs = learnt.log_probabilities(one.values, np.zeros_like(one.mask))

    np.testing.assert_array_equal(logs, [[0, -np.inf, -np.inf, -np.inf]] * 3)


@pytest.mark.train
def test_validation_clips_of_classes_never_trained_say_nothing():
    held = TrainingData(*(x[:2] for x in (clips().values, clips().mask)), np.array([3, 3]), 4)
    course = Course(replace(REGIME, epochs=2), seed=0)

    with_them = gru.learn(clips(), held, course)
    without = gru.learn(clips(), None, course)

    assert len(with_them.rates) == 2
    assert same(with_them.arrays(), without.arrays())


PROGRAM = """
import sys
sys.path.insert(0, {folder!r})
from test_neural_training import Course, REGIME, clips, {kind}, replace
from snellen.digest import digest_array, digest_json
arrays = {kind}.learn(clips(), None, Course(replace(REGIME, epochs=1), seed=3)).arrays()
print(digest_json({{name: digest_array(array) for name, array in arrays.items()}}))
"""


@pytest.mark.train
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["gru", "landolt"])
def test_the_number_of_cores_and_threads_changes_no_bit_of_the_weights(kind):
    program = PROGRAM.format(folder=str(Path(__file__).parent), kind=kind)
    digests = [
        subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | {"NPROC": cores, "XLA_FLAGS": f"--xla_cpu_multi_thread_eigen={eigen}"},
            check=True,
            capture_output=True,
            text=True,
        ).stdout.split()[-1]
        for cores, eigen in (("1", "false"), ("2", "true"))
    ]

    assert digests[0] == digests[1]
    assert len(digests[0]) == 64


def test_an_epoch_shows_every_clip_and_fills_its_last_batch_from_its_beginning():
    data = clips(n_each=15)  # 45 clips in batches of 32

    values, mask, targets = training._epoch(data, Course(REFERENCE, 0), 1)

    assert values.shape == (64, 12, 6)
    assert mask.dtype == targets.dtype == np.float32
    np.testing.assert_array_equal(values[45:], values[:19])
    assert sorted(values[:45, 0, 1].tolist()) == sorted(data.values[:, 0, 1].tolist())
    np.testing.assert_array_equal(targets.argmax(axis=1), np.rint(values[:, :, 0].mean(axis=1)))


def test_each_epoch_has_an_order_of_its_own_and_draws_it_again_when_asked_again():
    one, again, two = (training._epoch(clips(), Course(REGIME, 0), k)[0] for k in (1, 1, 2))

    np.testing.assert_array_equal(one, again)
    assert not np.array_equal(one, two)


def test_the_references_copies_are_drawn_once_and_stand_behind_the_clips():
    data = clips()

    both = training._with_copies(data, Course(REGIME, 0))

    assert len(both.labels) == 2 * len(data.labels)
    np.testing.assert_array_equal(both.values[: len(data.labels)], data.values)
    assert not np.array_equal(both.values[len(data.labels) :], data.values)
    np.testing.assert_array_equal(both.labels[len(data.labels) :], data.labels)


def test_where_copies_are_not_drawn_every_epoch_is_augmented_anew():
    data = clips()
    plain = {value.tobytes() for value in data.values}

    values, _, _ = training._epoch(data, Course(SNELLEN, 0), 1)

    assert not plain & {value.tobytes() for value in values}


def test_the_plateau_schedule_halves_after_five_epochs_without_gain():
    losses = [1.0, 0.9, *[0.95] * 4]

    assert training.rate_of(REFERENCE, 6, losses) == 1e-3
    assert training.rate_of(REFERENCE, 7, [*losses, 0.95]) == 5e-4
    assert training.rate_of(REFERENCE, 12, [*losses, 0.95, *[0.95] * 5]) == 2.5e-4
    # A gain of less than 1e-4 is none.
    assert training.rate_of(REFERENCE, 7, [*losses, 0.89995]) == 5e-4
    assert training.rate_of(REFERENCE, 99, [1.0] * 99) == 1e-5


@pytest.mark.train
@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
def test_the_plateau_schedule_is_that_of_keras():
    keras = training.load_keras()
    losses = np.random.default_rng(0).random(60).round(2).tolist()
    schedule = keras.callbacks.ReduceLROnPlateau(factor=0.5, patience=5, min_lr=1e-5)
    model = keras.Sequential([keras.layers.Input((1,)), keras.layers.Dense(1)])
    model.compile(keras.optimizers.Adam(1e-3), "mse")
    schedule.set_model(model)
    schedule.on_train_begin()
    for epoch, loss in enumerate(losses):
        schedule.on_epoch_end(epoch, {"val_loss": loss})
        expected = float(keras.ops.convert_to_numpy(model.optimizer.learning_rate.value))
        assert training.rate_of(REFERENCE, epoch + 1, losses[: epoch + 1]) == pytest.approx(
            expected
        )


def test_the_cosine_schedule_warms_up_peaks_and_ends_at_a_hundredth():
    rates = [training.rate_of(SNELLEN, done, []) for done in range(SNELLEN.epochs)]

    peak = SNELLEN.learning_rate
    assert rates[:4] == pytest.approx([peak / 4, peak / 2, peak * 3 / 4, peak])
    assert rates[3:] == sorted(rates[3:], reverse=True)
    assert rates[-1] == pytest.approx(peak / 100)


def test_patience_counts_from_the_best_epoch():
    assert not training.stopped([], 1)
    assert not training.stopped([0.5, 0.6], 2)
    assert training.stopped([0.5, 0.6, 0.5], 2)
