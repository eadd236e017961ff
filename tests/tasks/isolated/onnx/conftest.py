"""Small networks of every kind as plain arrays, and what an exported one says of itself."""

import numpy as np
import pytest

from snellen.digest import digest_json
from snellen.tasks.isolated.onnx_metadata import OnnxMetadata

FRAMES, CHANNELS, POINTS, CLASSES = 5, 6, 2, 3


def weights_like_keras(kind, seed=0, units=(4, 3), dense=7):
    """Random weights under the names and in the shapes of ``nets``, the last class untrained."""
    rng = np.random.default_rng(seed)

    def draw(*shape):
        return rng.standard_normal(shape).astype(np.float32)

    gates = 4 if kind == "lstm" else 3
    arrays = {}
    for name, before, n in zip(("rnn1", "rnn2"), (CHANNELS, units[0]), units, strict=True):
        arrays[f"{name}.kernel"] = draw(before, gates * n)
        arrays[f"{name}.recurrent"] = draw(n, gates * n)
        arrays[f"{name}.bias"] = draw(4 * n) if kind == "lstm" else draw(2, 3 * n)
    width = units[1]
    if kind == "gru_mha":
        for name in ("query", "key", "value"):
            arrays[f"attention.{name}.kernel"] = draw(width, 8)
            arrays[f"attention.{name}.bias"] = draw(8)
        arrays |= {"attention.output.kernel": draw(8, width), "attention.output.bias": draw(width)}
        arrays |= {"norm.gamma": draw(width), "norm.beta": draw(width)}
        width *= 2
    arrays |= {"dense.kernel": draw(width, dense), "dense.bias": draw(dense)}
    arrays |= {"out.kernel": draw(dense, CLASSES), "out.bias": draw(CLASSES)}
    trained = np.array([True] * (CLASSES - 1) + [False])
    said = {"trained": trained, "rates": np.array([1e-3, 5e-4]), "frames": np.array([FRAMES])}
    return arrays | said


@pytest.fixture
def weights():
    return weights_like_keras


@pytest.fixture
def clips():
    """Seventy clips: more than two chunks."""
    rng = np.random.default_rng(7)
    values = rng.standard_normal((70, FRAMES, CHANNELS), dtype=np.float32)
    return values, rng.random((70, FRAMES, POINTS)) < 0.8


@pytest.fixture
def metadata():
    settings = {"name": "snellen-1", "layout": "toy", "frames": FRAMES}
    return OnnxMetadata(
        labels=("no", "thank you", "yes"),
        layout="toy",
        preprocessing="snellen-1",
        fingerprint=digest_json(settings),
        settings=settings,
        frames=FRAMES,
        data="d",
        split="s",
        protocol="signer",
        round=1,
        model="gru",
        seed=42,
        recipe="r",
        regime="snellen",
        training="t",
        temperature=0.5,
        threshold=0.7,
        licence="not stated",
        snellen_version="0",
    )
