import sys

import numpy as np
import pytest
from scipy.special import expit, softmax

from snellen.errors import Missing
from snellen.tasks.isolated.model.neural import nets
from snellen.tasks.isolated.model.neural.graph import graph
from snellen.tasks.isolated.model.neural.network import network

onnx = pytest.importorskip("onnx", reason="onnx not installed: the [onnx] extra")
pytest.importorskip("onnxruntime", reason="onnxruntime not installed: the [onnx] extra")

RECURRENT = ("lstm", "gru", "gru_mha")
DRAWN = (*RECURRENT, "landolt")


def lstm(x, kernel, recurrent, bias):
    """All states of an LSTM, gates i, f, c, o, (frames, units) of one clip."""
    h = c = np.zeros(len(recurrent))
    states = []
    for step in x:
        i, f, g, o = np.split(step @ kernel + h @ recurrent + bias, 4)
        c = expit(f) * c + expit(i) * np.tanh(g)
        h = expit(o) * np.tanh(c)
        states.append(h)
    return np.array(states)


def gru(x, kernel, recurrent, bias):
    """All states of a GRU, gates z, r, h, the reset applied to the finished product."""
    h = np.zeros(len(recurrent))
    states = []
    for step in x:
        xz, xr, xh = np.split(step @ kernel + bias[0], 3)
        hz, hr, hh = np.split(h @ recurrent + bias[1], 3)
        z, r = expit(xz + hz), expit(xr + hr)
        h = z * h + (1 - z) * np.tanh(xh + r * hh)
        states.append(h)
    return np.array(states)


def attended(x, a):
    """Four heads of self-attention with residual and norm, then average and maximum."""
    q, k, v = (
        (x @ a[f"attention.{n}.kernel"] + a[f"attention.{n}.bias"]).reshape(len(x), 4, -1)
        for n in ("query", "key", "value")
    )
    heads = [softmax(q[:, h] @ k[:, h].T / np.sqrt(q.shape[2]), axis=1) @ v[:, h] for h in range(4)]
    gathered = np.concatenate(heads, axis=1) @ a["attention.output.kernel"]
    y = x + gathered + a["attention.output.bias"]
    y = (y - y.mean(axis=1, keepdims=True)) / np.sqrt(y.var(axis=1, keepdims=True) + 1e-3)
    y = y * a["norm.gamma"] + a["norm.beta"]
    return np.concatenate([y.mean(axis=0), y.max(axis=0)])


def by_hand(kind, a, clip):
    """Logits of one clip, in double precision."""
    layer = lstm if kind == "lstm" else gru
    x = clip.astype(np.float64)
    for name in ("rnn1", "rnn2"):
        x = layer(
            x, *(a[f"{name}.{part}"].astype(float) for part in ("kernel", "recurrent", "bias"))
        )
    x = attended(x, a) if kind == "gru_mha" else x[-1]
    hidden = np.maximum(x @ a["dense.kernel"] + a["dense.bias"], 0)
    return hidden @ a["out.kernel"] + a["out.bias"]


@pytest.mark.parametrize("kind", RECURRENT)
def test_a_graph_computes_what_its_formulas_say(kind, weights, clips):
    arrays = weights(kind)
    values, mask = clips

    logits = network(kind, arrays).logits(values, mask)

    assert logits.dtype == np.float32
    expected = [by_hand(kind, arrays, clip) for clip in values]
    np.testing.assert_allclose(logits, expected, rtol=0, atol=1e-5)


def normed(x, a, name):
    y = (x - x.mean(axis=1, keepdims=True)) / np.sqrt(x.var(axis=1, keepdims=True) + 1e-5)
    return y * a[f"{name}.gamma"] + a[f"{name}.beta"]


def dense(x, a, name):
    return x @ a[f"{name}.kernel"] + a[f"{name}.bias"]


def convolved(x, kernel, bias):
    """Five places around each, nothing beyond the ends."""
    wide = np.pad(x, ((2, 2), (0, 0)))
    return sum(wide[k : k + len(x)] @ kernel[k] for k in range(5)) + bias


def swish(x):
    return x * expit(x)


def features(clip):
    velocity, bend = np.zeros_like(clip), np.zeros_like(clip)
    for t in range(1, len(clip) - 1):
        velocity[t] = clip[t + 1] - clip[t - 1]
    for t in range(2, len(clip) - 2):
        bend[t] = clip[t + 2] - 2 * clip[t] + clip[t - 2]
    return np.concatenate([clip, clip - clip.mean(axis=0), velocity, bend], axis=1)


def landolt(a, clip, mask):
    """Logits of one clip, in double precision."""
    x = features(clip.astype(np.float64)) - a["standardise.mean"]
    x = np.clip(x / a["standardise.spread"], -8, 8)
    x = np.concatenate([x, 1.0 - mask], axis=1).reshape(len(clip) // 2, -1)
    x = normed(dense(x, a, "embed"), a, "embed_norm") + a["places.table"]
    for block in ("block1", "block2"):
        y = convolved(x, a[f"{block}_conv.kernel"], a[f"{block}_conv.bias"])
        x = x + dense(swish(normed(y, a, f"{block}_norm")), a, f"{block}_out")
    q, k, v = np.split(normed(x, a, "attention_norm") @ a["attention_in.kernel"], 3, axis=1)
    heads = [slice(2 * h, 2 * h + 2) for h in range(4)]
    y = [softmax(q[:, h] @ k[:, h].T / np.sqrt(2), axis=1) @ v[:, h] for h in heads]
    x = x + dense(np.concatenate(y, axis=1), a, "attention_out")
    x = x + dense(swish(dense(normed(x, a, "wide_norm"), a, "wide_in")), a, "wide_out")
    x = swish(dense(normed(x, a, "pool_norm"), a, "pool_in"))
    return dense(np.concatenate([x.mean(axis=0), x.max(axis=0)]), a, "out")


def test_landolt_computes_what_its_formulas_say(weights, paired_clips):
    arrays = weights("landolt")
    values, mask = paired_clips

    logits = network("landolt", arrays).logits(values, mask)

    expected = [landolt(arrays, clip, seen) for clip, seen in zip(values, mask, strict=True)]
    np.testing.assert_allclose(logits, expected, rtol=1e-5, atol=1e-4)


def test_landolt_reads_the_mask_and_the_reference_networks_do_not(weights, clips, paired_clips):
    for kind, (values, mask) in (("landolt", paired_clips), ("gru_mha", clips)):
        net = network(kind, weights(kind))

        same = np.array_equal(net.logits(values, mask), net.logits(values, ~mask))

        assert same == (kind != "landolt")


def keras_net(kind, seed):
    return nets.build(kind, 30, 225, 75, 50, seed=seed)


def parity(kind, net):
    """Largest difference of probabilities between Keras and the graph, and of best answers."""
    rng = np.random.default_rng(3)
    values = rng.standard_normal((64, 30, 225), dtype=np.float32)
    mask = np.ones((64, 30, 75), np.float32)
    said = {"trained": np.ones(50, bool), "rates": np.zeros(1), "frames": np.array([30])}
    ours = np.exp(network(kind, nets.weights_of(net) | said).log_probabilities(values, mask > 0))
    theirs = softmax(net.predict([values, mask], verbose=0).astype(np.float64), axis=1)
    return np.abs(ours - theirs).max(), (ours.argmax(axis=1) != theirs.argmax(axis=1)).sum()


@pytest.mark.train
@pytest.mark.parametrize("kind", nets.KINDS)
def test_keras_and_onnx_agree_on_random_weights(kind):
    net = keras_net(kind, seed=1)
    rng = np.random.default_rng(2)
    for weight in net.trainable_weights:  # biases start as zeros, which would hide a mix-up
        weight.assign(np.asarray(weight) + 0.1 * rng.standard_normal(weight.shape))

    difference, other_answers = parity(kind, net)

    assert difference <= 1e-5
    assert other_answers == 0


@pytest.mark.train
@pytest.mark.parametrize("kind", nets.KINDS)
def test_keras_and_onnx_agree_after_some_training(kind):
    keras = nets.load_keras()
    net = keras_net(kind, seed=1)
    rng = np.random.default_rng(2)
    labels = rng.integers(0, 50, 64)
    values = rng.standard_normal((64, 30, 225)).astype(np.float32) + labels[:, None, None] / 10
    net.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    net.fit([values, np.ones((64, 30, 75), np.float32)], labels, epochs=3, verbose=0)

    difference, other_answers = parity(kind, net)

    assert difference <= 1e-5
    assert other_answers == 0


@pytest.mark.parametrize("kind", DRAWN)
def test_a_graph_passes_the_checker_and_runs_on_old_runtimes(kind, weights):
    model = graph(kind, weights(kind))

    onnx.checker.check_model(model, full_check=True)
    assert model.ir_version == 8
    assert [(entry.domain, entry.version) for entry in model.opset_import] == [("", 17)]


def test_a_class_that_was_never_trained_is_impossible_and_the_rest_sums_to_one(weights, clips):
    logs = network("gru", weights("gru")).log_probabilities(*clips)

    assert logs.dtype == np.float64
    assert np.isneginf(logs[:, 2]).all()
    np.testing.assert_allclose(np.exp(logs).sum(axis=1), 1)


def test_clips_are_answered_alike_alone_together_and_by_two_threads(weights, clips):
    values, mask = clips
    net = network("lstm", weights("lstm"))

    together = net.logits(values, mask)

    alone = [net.logits(values[k : k + 1], mask[k : k + 1])[0] for k in range(len(values))]
    np.testing.assert_allclose(together, alone, rtol=0, atol=1e-6)
    np.testing.assert_array_equal(net.logits(values, mask, threads=2), together)


def test_no_clips_get_no_answers(weights, clips):
    values, mask = clips

    assert network("gru", weights("gru")).logits(values[:0], mask[:0]).shape == (0, 3)


def test_what_was_learnt_is_counted_and_nothing_else(weights):
    net = network("lstm", weights("lstm"))

    # 4 x (6 x 4 + 4 x 4 + 4), 4 x (4 x 3 + 3 x 3 + 3), 3 x 7 + 7, 7 x 3 + 3
    assert net.parameters == 176 + 96 + 28 + 24
    assert net.rates == (1e-3, 5e-4)


def test_constants_measured_on_the_clips_were_not_learnt(weights):
    arrays = weights("landolt")
    learnt = {name: array.size for name, array in arrays.items() if "standardise" not in name}

    parameters = network("landolt", arrays).parameters

    # without trained (3), rates (2) and frames (1)
    assert parameters == sum(learnt.values()) - 6


def test_the_arrays_of_a_network_make_the_same_network(weights, clips):
    net = network("gru_mha", weights("gru_mha"))

    again = network("gru_mha", net.arrays())

    np.testing.assert_array_equal(again.logits(*clips), net.logits(*clips))


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("rnn1.kernel", np.zeros((6, 5), np.float32)),
        ("rnn2.recurrent", np.zeros((4, 12), np.float32)),
        ("dense.kernel", np.zeros((2, 7), np.float32)),
        ("out.bias", np.zeros(9, np.float32)),
        ("trained", np.ones(9, bool)),
        ("trained", np.zeros(3, bool)),
        ("rates", np.zeros((1, 1))),
        ("frames", np.zeros(2, np.int64)),
        ("frames", np.array([-1])),
    ],
)
def test_arrays_that_do_not_fit_each_other_make_no_network(name, array, weights):
    with pytest.raises(ValueError, match=r"\w"):
        network("gru", weights("gru") | {name: array})


def test_an_absent_array_is_named(weights):
    arrays = weights("gru")
    del arrays["rnn2.bias"]

    with pytest.raises(KeyError, match=r"rnn2\.bias"):
        network("gru", arrays)


def test_a_network_of_another_kind_is_named_with_those_there_are(weights):
    with pytest.raises(ValueError, match=r"no network 'tcn': one of lstm, gru, gru_mha"):
        network("tcn", weights("gru"))


@pytest.mark.parametrize(
    ("shape", "seen"),
    [
        ((4, 5, 7), "values .*Got: 7 Expected: 6"),
        ((4, 6, 6), "values .*Got: 6 Expected: 5"),
        ((4, 30), "rank for input: values Got: 2 Expected: 3"),
    ],
)
def test_clips_of_another_shape_are_refused(shape, seen, weights):
    net = network("gru", weights("gru"))

    with pytest.raises(ValueError, match=seen):
        net.logits(np.zeros(shape, np.float32), np.ones((4, 5, 2), bool))


@pytest.mark.parametrize("library", ["onnx", "onnxruntime"])
def test_without_the_extra_the_command_that_installs_it_is_said(library, weights, monkeypatch):
    monkeypatch.setitem(sys.modules, library, None)

    with pytest.raises(Missing, match=rf"needs {library}: pip install 'snellen\[onnx\]'"):
        network("gru", weights("gru"))
