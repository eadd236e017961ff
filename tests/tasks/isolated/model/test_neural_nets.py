import subprocess
import sys

import numpy as np
import pytest

from snellen.errors import Missing
from snellen.tasks.isolated.model.neural import landolt, nets


@pytest.mark.train
@pytest.mark.parametrize(
    ("kind", "parameters"), [("lstm", 245_426), ("gru", 188_338), ("gru_mha", 263_026)]
)
def test_a_reference_network_has_as_many_parameters_as_its_document_says(kind, parameters):
    net = nets.build(kind, 30, 225, 75, 50, seed=0)

    assert net.count_params() == parameters
    assert sum(array.size for array in nets.weights_of(net).values()) == parameters


@pytest.mark.train
@pytest.mark.parametrize("kind", nets.KINDS)
def test_the_same_seed_gives_the_same_first_weights_and_another_others(kind):
    one, same, other = (
        nets.weights_of(nets.build(kind, 16, 6, 2, 3, seed=seed)) for seed in (1, 1, 2)
    )

    for name, array in one.items():
        np.testing.assert_array_equal(array, same[name])
    kernels = [name for name in one if name.endswith("kernel")]
    assert not any(np.array_equal(one[name], other[name]) for name in kernels)


@pytest.mark.train
def test_an_attention_starts_with_queries_keys_and_values_that_differ():
    arrays = nets.weights_of(nets.build("gru_mha", 16, 6, 2, 3, seed=1))

    query, key, value = (arrays[f"attention.{x}.kernel"] for x in ("query", "key", "value"))

    assert query.shape == (64, 256)
    assert not np.array_equal(query, key)
    assert not np.array_equal(key, value)


@pytest.mark.train
def test_what_landolt_is_given_is_computed_as_documented():
    # One channel over five frames: 0, 1, 4, 9, 16.
    values = (np.arange(5, dtype=np.float32) ** 2)[None, :, None]

    features = np.asarray(landolt.motion_features(nets.load_keras(), values))[0].T

    assert features.tolist() == [
        [0, 1, 4, 9, 16],
        [-6, -5, -2, 3, 10],
        [0, 4, 8, 12, 0],
        [0, 0, 8, 0, 0],
    ]


@pytest.mark.train
def test_landolt_reads_the_mask_and_standardises_with_the_training_clips():
    keras = nets.load_keras()
    net = nets.build("landolt", 16, 6, 2, 3, seed=0)
    values = np.random.default_rng(0).normal(5, 3, (40, 16, 6)).astype(np.float32)
    landolt.standardise(keras, net, values)
    arrays = nets.weights_of(net)
    seen, lost = (
        net.predict([values, np.full((40, 16, 2), x, np.float32)], verbose=0) for x in (1, 0)
    )

    np.testing.assert_allclose(arrays["standardise.mean"][:6], values.mean(axis=(0, 1)), rtol=1e-4)
    np.testing.assert_allclose(arrays["standardise.spread"][:6], values.std(axis=(0, 1)), rtol=1e-4)
    assert np.abs(seen - lost).max() > 1e-3


@pytest.mark.train
@pytest.mark.parametrize("kind", nets.KINDS)
def test_weights_go_into_a_network_as_they_came_out(kind):
    arrays = nets.weights_of(nets.build(kind, 16, 6, 2, 3, seed=1))
    other = nets.build(kind, 16, 6, 2, 3, seed=2)

    nets.load_weights(other, arrays)

    again = nets.weights_of(other)
    assert again.keys() == arrays.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(again[name], array)


@pytest.mark.train
def test_an_lstm_starts_by_remembering():
    bias = nets.weights_of(nets.build("lstm", 16, 6, 2, 3, seed=1))["rnn1.bias"]

    # Gates i, f, c, o: only the forget gate starts at one.
    assert bias.reshape(4, 128).mean(axis=1).tolist() == [0, 1, 0, 0]


@pytest.mark.train
@pytest.mark.parametrize("kind", ["lstm", "gru", "gru_mha"])
def test_the_reference_networks_do_not_look_at_the_mask(kind):
    net = nets.build(kind, 16, 6, 2, 3, seed=0)
    values = np.random.default_rng(0).standard_normal((2, 16, 6)).astype(np.float32)

    answers = [net.predict([values, np.full((2, 16, 2), x, np.float32)], verbose=0) for x in (0, 1)]

    np.testing.assert_array_equal(answers[0], answers[1])


def test_a_training_without_keras_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "keras", None)

    with pytest.raises(Missing, match=r"needs keras: pip install 'snellen\[train\]'"):
        nets.load_keras()


def test_no_framework_is_loaded_before_something_is_trained():
    program = (
        "import sys\n"
        "from snellen.tasks.isolated.model import lstm, gru, gru_mha, landolt\n"
        "assert not {'keras', 'jax', 'onnx', 'onnxruntime', 'sklearn'} & set(sys.modules)"
    )

    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
