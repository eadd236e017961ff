"""Small networks of every kind as plain arrays, and what an exported one says of itself."""

import numpy as np
import pytest

from snellen.digest import digest_json
from snellen.tasks.isolated.onnx_metadata import OnnxMetadata

FRAMES, CHANNELS, POINTS, CLASSES = 5, 6, 2, 3
# landolt's frames stand in pairs, and its second difference needs five.
PAIRED_FRAMES, WIDTH = 6, 8


def weights_like_keras(kind, seed=0):
    """Random weights under the names and in the shapes of ``nets``, the last class untrained."""
    rng = np.random.default_rng(seed)

    def draw(*shape):
        return rng.standard_normal(shape).astype(np.float32)

    frames = PAIRED_FRAMES if kind == "landolt" else FRAMES
    trained = np.array([True] * (CLASSES - 1) + [False])
    said = {"trained": trained, "rates": np.array([1e-3, 5e-4]), "frames": np.array([frames])}
    return (landolt(draw) if kind == "landolt" else recurrent(kind, draw)) | said


def landolt(draw):
    shapes = {
        "embed": (2 * (4 * CHANNELS + POINTS), WIDTH),
        "block1_conv": (5, WIDTH, WIDTH),
        "block1_out": (WIDTH, WIDTH),
        "block2_conv": (5, WIDTH, WIDTH),
        "block2_out": (WIDTH, WIDTH),
        "attention_out": (WIDTH, WIDTH),
        "wide_in": (WIDTH, 2 * WIDTH),
        "wide_out": (2 * WIDTH, WIDTH),
        "pool_in": (WIDTH, 2 * WIDTH),
        "out": (4 * WIDTH, CLASSES),
    }
    arrays = {f"{name}.kernel": draw(*shape) for name, shape in shapes.items()}
    arrays |= {f"{name}.bias": draw(shape[-1]) for name, shape in shapes.items()}
    norms = ("embed", "block1", "block2", "attention", "wide", "pool")
    arrays |= {f"{name}_norm.{part}": draw(WIDTH) for name in norms for part in ("gamma", "beta")}
    arrays["attention_in.kernel"] = draw(WIDTH, 3 * WIDTH)
    arrays["places.table"] = draw(PAIRED_FRAMES // 2, WIDTH)
    arrays["standardise.mean"] = draw(4 * CHANNELS)
    # The first channel is far out of its spread: it is cut off at 8 spreads.
    arrays["standardise.spread"] = np.abs(draw(4 * CHANNELS)) + 0.5
    arrays["standardise.spread"][0] = 1e-3
    return arrays


def recurrent(kind, draw, units=(4, 3), dense=7):
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
    return arrays | {"out.kernel": draw(dense, CLASSES), "out.bias": draw(CLASSES)}


@pytest.fixture
def weights():
    return weights_like_keras


def seventy(frames):
    rng = np.random.default_rng(7)
    values = rng.standard_normal((70, frames, CHANNELS), dtype=np.float32)
    return values, rng.random((70, frames, POINTS)) < 0.8


@pytest.fixture
def clips():
    """Seventy clips: more than two chunks."""
    return seventy(FRAMES)


@pytest.fixture
def paired_clips():
    """The same for landolt."""
    return seventy(PAIRED_FRAMES)


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
        recordings="f",
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
