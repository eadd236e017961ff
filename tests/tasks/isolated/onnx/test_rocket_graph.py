"""MiniRocket drawn as a graph gives what aeon gives, but where a sum ties with its bias."""

import numpy as np
import pytest

pytest.importorskip("aeon")
pytest.importorskip("onnxruntime")

from onnx import helper

from snellen.tasks.isolated.model import TrainingData, rocket
from snellen.tasks.isolated.model.neural.network import session_of
from snellen.tasks.isolated.model.neural.rocket_graph import KERNELS, draw_rocket
from snellen.tasks.isolated.model.neural.sketch import Sketch

pytestmark = pytest.mark.train

FRAMES, CHANNELS, CLIPS = 32, 5, 40


@pytest.fixture(scope="module")
def clips():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(CLIPS, FRAMES, CHANNELS)).astype(np.float32).cumsum(axis=1)
    return values, np.ones((CLIPS, FRAMES, 1), bool), np.arange(CLIPS) % 3


def answers(fitted, values, scale):
    arrays = {f"rocket.{name}": array for name, array in fitted.arrays().items()}
    sketch = Sketch()
    draw_rocket(sketch, arrays, FRAMES, CHANNELS, scale)
    sketch.nodes[-1].output[0] = "scores"
    drawn = helper.make_graph(
        sketch.nodes,
        "rocket",
        [helper.make_tensor_value_info("values", 1, ["batch", FRAMES, CHANNELS])],
        [helper.make_tensor_value_info("scores", 1, ["batch", "classes"])],
        sketch.constants,
    )
    model = helper.make_model(drawn, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])
    return session_of(model.SerializeToString()).run(None, {"values": values})[0]


def scores(fitted, values):
    features = (rocket._transformed(fitted.transform, values) - fitted.mean) / fitted.spread
    return features @ fitted.weights + fitted.offsets


def test_every_kernel_has_nine_taps_three_of_them_raised():
    assert len(KERNELS) == 84
    assert KERNELS[0] == (0, 1, 2)
    assert KERNELS[-1] == (6, 7, 8)


def test_the_graph_scores_clips_as_aeon_and_the_ridge_do(clips):
    values, mask, labels = clips
    fitted = rocket.fit(TrainingData(values, mask, labels, 3), 0)

    found = answers(fitted, values, 2.0)

    np.testing.assert_allclose(found, 2 * scores(fitted, values), atol=2e-3)


def test_a_class_that_was_not_trained_scores_nothing(clips):
    values, mask, labels = clips
    fitted = rocket.fit(TrainingData(values, mask, np.where(labels == 1, 3, labels), 4), 0)

    found = answers(fitted, values, 1.0)

    assert found.shape == (CLIPS, 4)
    assert not found[:, 1].any()
    np.testing.assert_allclose(found[:, [0, 2, 3]], scores(fitted, values), atol=2e-3)
