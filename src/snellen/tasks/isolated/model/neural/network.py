"""A trained network that answers through ONNX Runtime; no training framework is needed.

*Conventions*: see ``model`` for values, mask and log-probabilities and ``graph``
for the names of the weights. Besides weights, the arrays hold ``trained`` (bool
(classes,), whether the training set held the class), ``rates`` (float64, the
learning rate of each epoch) and ``frames`` (int64 (1,)). One call of the
runtime takes one thread: a run keeps every core busy with rounds already.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from snellen.errors import Missing
from snellen.tasks.isolated.model.neural.graph import graph

__all__ = ["Network", "answers_in_chunks", "network", "session_of"]

# Larger batches leave the cache of a core.
CLIPS_AT_ONCE = 32
FATAL_ONLY = 4
# Read off the training clips, not learnt.
MEASURED = (
    "standardise.mean",
    "standardise.spread",
    "rocket.mean",
    "rocket.spread",
    "rocket.biases",
)
NOT_WEIGHTS = ("trained", "rates", "frames")


@dataclass(frozen=True, slots=True)
class Network:
    """A network of some ``kind``, its arrays, and a session that runs its graph."""

    kind: str
    weights: Mapping[str, np.ndarray]
    session: Any = field(repr=False, compare=False)

    def log_probabilities(self, values: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """As :class:`snellen.tasks.isolated.model.Fitted`.

        Raises:
            ValueError: clips of another length or other channels than the network reads.
        """
        return trained_log_softmax(self.logits(values, mask), self.weights["trained"])

    def logits(self, values: np.ndarray, mask: np.ndarray, *, threads: int = 1) -> np.ndarray:
        """What the graph gives, float32 (clips, classes)."""
        return answers_in_chunks(self.session, "logits", values, mask, threads=threads)

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything needed to rebuild it."""
        return dict(self.weights)

    @property
    def rates(self) -> tuple[float, ...]:
        """One learning rate an epoch, up to and with the best."""
        return tuple(self.weights["rates"].tolist())

    @property
    def parameters(self) -> int:
        """How many numbers were learnt."""
        return sum(
            array.size
            for name, array in self.weights.items()
            if _is_weight(name, array) and not name.endswith(MEASURED)
        )


def network(kind: str, arrays: Mapping[str, np.ndarray]) -> Network:
    """A trained network from its arrays, ready to answer.

    Raises:
        KeyError: an array is absent.
        ValueError: the arrays do not make a network of this kind.
        Missing: ONNX or ONNX Runtime is not installed.
    """
    trained = arrays["trained"]
    if trained.ndim != 1 or trained.dtype != bool or not trained.any():
        raise ValueError("'trained' must say of every class whether it was, of one at least")
    if arrays["rates"].ndim != 1 or arrays["frames"].shape != (1,) or arrays["frames"][0] < 1:
        raise ValueError("'rates' must be a list and 'frames' one number above 0")
    weights = {
        name: np.asarray(array, np.float32) if _is_weight(name, array) else array
        for name, array in arrays.items()
    }
    return Network(kind, weights, session_of(checked_bytes(kind, weights)))


def _is_weight(name: str, array: np.ndarray) -> bool:
    # A part of a pooled network has its name before those of its arrays.
    return name.rsplit(".", 1)[-1] not in NOT_WEIGHTS and array.dtype.kind == "f"


def checked_bytes(kind: str, weights: Mapping[str, np.ndarray]) -> bytes:
    """The graph of these weights, once all their shapes are known to fit each other."""
    try:
        import onnx
    except ImportError as error:
        raise _missing(error) from error
    model = graph(kind, weights)
    try:
        onnx.checker.check_model(model, full_check=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
        raise ValueError(f"weights that do not make a {kind}: {error}") from error
    return bytes(model.SerializeToString())


def session_of(model: bytes) -> Any:
    """An ``onnxruntime.InferenceSession`` of one thread that never spins.

    Raises:
        ValueError: the runtime does not accept the model.
        Missing: ONNX Runtime is not installed.
    """
    try:
        import onnxruntime
    except ImportError as error:
        raise _missing(error) from error
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = FATAL_ONLY
    try:
        return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # the runtime's errors have no class of their own
        raise ValueError(f"not accepted by ONNX Runtime: {error}") from error


def answers_in_chunks(
    session: Any, output: str, values: np.ndarray, mask: np.ndarray, *, threads: int = 1
) -> np.ndarray:
    """One output of a session for all clips, float32 (clips, classes).

    Raises:
        ValueError: the session does not read clips of this shape.
    """

    def answered(first: int) -> np.ndarray:
        chunk = slice(first, first + CLIPS_AT_ONCE)
        fed = {
            "values": np.ascontiguousarray(values[chunk], np.float32),
            "mask": np.ascontiguousarray(mask[chunk], np.float32),
        }
        try:
            return np.asarray(session.run([output], fed)[0])
        except Exception as error:  # as in session_of
            said = " ".join(str(error).split())
            raise ValueError(f"ONNX Runtime refused: {said}") from error

    if len(values) == 0:
        return np.zeros((0, session.get_outputs()[0].shape[1]), np.float32)
    starts = range(0, len(values), CLIPS_AT_ONCE)
    if len(starts) == 1:
        return answered(0)
    if threads == 1:
        return np.concatenate([answered(first) for first in starts])
    # The runtime lets go of the interpreter's lock, so threads are enough.
    with ThreadPoolExecutor(threads) as pool:
        return np.concatenate(list(pool.map(answered, starts)))


def trained_log_softmax(logits: np.ndarray, trained: np.ndarray) -> np.ndarray:
    """Log-probabilities over the trained classes, float64, -inf for every other class."""
    possible = np.where(trained, logits.astype(np.float64), -np.inf)
    below = possible - possible.max(axis=1, keepdims=True)
    # Written out: scipy's own takes longer than a third of a network.
    return np.asarray(below - np.log(np.exp(below).sum(axis=1, keepdims=True)))


def _missing(error: ImportError) -> Missing:
    return Missing(f"this model needs {error.name}: pip install 'snellen[onnx]'")
