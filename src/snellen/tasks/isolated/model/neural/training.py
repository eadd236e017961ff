"""Training of a network, epoch by epoch, so that it can be killed and go on.

It answers: which weights read the validation clips best, and with which
learning rates were they reached? The regime fixes everything else. Each epoch
draws its order and its augmentation from a generator of (seed, epoch), so an
epoch does not depend on how often training was interrupted before it.

*Conventions*: epochs count from 1. Losses are cross-entropies with the regime's
label smoothing, per clip. An epoch whose last batch would be short is filled up
with clips from its beginning: every batch has one shape and is compiled once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import log_softmax

from snellen.digest import digest_array, digest_json
from snellen.errors import SnellenError
from snellen.tasks.isolated.model import Course, TrainingData
from snellen.tasks.isolated.model.neural import landolt
from snellen.tasks.isolated.model.neural.augment import augmented
from snellen.tasks.isolated.model.neural.checkpoint import START, State, read_state, write_state
from snellen.tasks.isolated.model.neural.nets import (
    array_of,
    build,
    initialise,
    load_keras,
    load_weights,
    weights_of,
)
from snellen.tasks.isolated.model.neural.network import Network, network
from snellen.tasks.isolated.regime import Regime

__all__ = ["learn_network", "rate_of"]

# The reference document's: the rate is halved when 5 epochs have not helped.
PLATEAU_PATIENCE, PLATEAU_FACTOR, PLATEAU_GAIN, LOWEST_RATE = 5, 0.5, 1e-4, 1e-5
WARM_UP_EPOCHS, LAST_SHARE = 3, 0.01
NO_DECAY = ["bias", "gamma", "beta"]
# Bounds what is in memory twice while it is augmented or read.
CLIPS_AT_ONCE = 1024
HELD_AT_ONCE = 128
ZEROS = "snellen-1-zeros"


def learn_network(
    kind: str, data: TrainingData, held: TrainingData | None, course: Course
) -> Network:
    """Train on ``data`` as ``course`` says; ``held`` are the validation clips.

    With ``course.rates`` exactly these epochs are trained, from the weights in
    ``course.start`` if there are any, and the last one is kept. Otherwise the
    regime's schedule runs: the epoch of least loss on ``held`` is kept, or the last
    one where nothing can be held against it. The checkpoint of a training that is
    done stays: its owner knows when nothing will ask for it again.

    Raises:
        Missing: Keras, its backend or ONNX Runtime is not installed.
        Mismatch: the checkpoint belongs to another training.
        BadInput: the checkpoint is damaged.
        SnellenError: training diverged.
    """
    trained = np.bincount(data.labels, minlength=data.classes) > 0
    held = None if course.rates is not None else _readable(held, trained)
    net = _fresh(kind, data, course)
    state = _trained(net, data, held, course, _contract(kind, data, held, course))
    _assign(net.trainable_variables, state.best)
    epochs = int(np.argmin(state.losses)) + 1 if held is not None else len(state.rates)
    return network(
        kind,
        {
            **weights_of(net),
            "trained": trained,
            "rates": np.array(state.rates[:epochs]),
            "frames": np.array([data.values.shape[1]], np.int64),
        },
    )


def _readable(held: TrainingData | None, trained: np.ndarray) -> TrainingData | None:
    """Validation clips of the trained classes: no other clip says which epoch is best."""
    if held is None:
        return None
    at = trained[held.labels]
    if not at.any():
        return None
    return TrainingData(held.values[at], held.mask[at], held.labels[at], held.classes)


def _fresh(kind: str, data: TrainingData, course: Course) -> Any:
    """A compiled network with the weights that training starts from."""
    frames, channels = data.values.shape[1:]
    shape = (frames, channels, data.mask.shape[2], data.classes)
    regime = course.regime
    net, untouched = _compiled(
        kind,
        shape,
        regime.label_smoothing,
        regime.weight_decay,
        regime.gradient_norm,
        regime.averaging,
    )
    _assign(_variables(net), untouched)
    initialise(net, course.seed)
    if kind == "landolt":
        landolt.standardise(load_keras(), net, data.values)
    if course.start is not None:
        load_weights(net, course.start)
    return net


# Compiling takes as long as many epochs, and rounds differ in nothing that is compiled.
# What is kept is code: every variable of it is set anew for each training.
@lru_cache(maxsize=4)
def _compiled(
    kind: str,
    shape: tuple[int, int, int, int],
    label_smoothing: float,
    weight_decay: float,
    gradient_norm: float,
    averaging: float,
) -> tuple[Any, tuple[np.ndarray, ...]]:
    """A network that Keras compiles at its first batch, and all its variables as they are."""
    keras = load_keras()
    net = build(kind, *shape, seed=0)
    # Without weight decay this is Adam.
    optimizer = keras.optimizers.AdamW(
        weight_decay=weight_decay,
        global_clipnorm=gradient_norm or None,
        use_ema=averaging > 0,
        ema_momentum=averaging,
    )
    optimizer.exclude_from_weight_decay(var_names=NO_DECAY)
    optimizer.build(net.trainable_variables)
    loss = keras.losses.CategoricalCrossentropy(from_logits=True, label_smoothing=label_smoothing)
    net.compile(optimizer=optimizer, loss=loss)
    return net, _arrays(_variables(net))


def _contract(
    kind: str, data: TrainingData, held: TrainingData | None, course: Course
) -> dict[str, str]:
    """What a checkpoint must share with the training that goes on from it."""
    keras = load_keras()
    return {
        "model": kind,
        "regime": course.regime.digest,
        "seed": str(course.seed),
        "training clips": _digest(data),
        "validation clips": "none" if held is None else _digest(held),
        "rates": "of the regime" if course.rates is None else digest_json(course.rates),
        "start": "of the seed" if course.start is None else _weights_digest(course.start),
        "framework": f"keras {keras.__version__} on {keras.backend.backend()}",
    }


def _digest(data: TrainingData) -> str:
    parts = [digest_array(array) for array in (data.values, data.mask, data.labels)]
    return digest_json([*parts, data.classes])


def _weights_digest(arrays: Mapping[str, np.ndarray]) -> str:
    return digest_json({name: digest_array(array) for name, array in arrays.items()})


def _trained(
    net: Any,
    data: TrainingData,
    held: TrainingData | None,
    course: Course,
    contract: dict[str, str],
) -> State:
    """The state after the last epoch, from the checkpoint on if there is one."""
    regime = course.regime
    state = _resumed(net, course, contract)
    clips = _with_copies(data, course)
    epochs = regime.epochs if course.rates is None else len(course.rates)
    while len(state.rates) < epochs and not stopped(state.losses, regime.patience):
        done = len(state.rates)
        rate = rate_of(regime, done, state.losses) if course.rates is None else course.rates[done]
        net.optimizer.learning_rate.assign(rate)
        judged, stepped = _fit(net, _epoch(clips, course, done + 1), regime.batch)
        state = _after_epoch(net, held, regime, state, rate, judged, stepped)
        if course.checkpoint is not None:
            write_state(course.checkpoint, state, contract)
        if course.on_epoch is not None:
            course.on_epoch(done + 1, epochs)
    if not all(np.isfinite(array).all() for array in state.best):
        raise SnellenError("training diverged: its weights are no longer finite numbers")
    return state


def _resumed(net: Any, course: Course, contract: dict[str, str]) -> State:
    if course.checkpoint is None:
        return START
    variables = _variables(net)
    here = _arrays(variables)
    state = read_state(course.checkpoint, contract, here, _arrays(net.trainable_variables))
    if state is not START:
        _assign(variables, state.variables)
    return state


def _variables(net: Any) -> list[Any]:
    """All that an epoch changes: weights, optimiser, and the state of every dropout."""
    return [*net.variables, *net.optimizer.variables]


def _arrays(variables: Sequence[Any]) -> tuple[np.ndarray, ...]:
    return tuple(array_of(variable) for variable in variables)


def _assign(variables: Sequence[Any], arrays: Sequence[np.ndarray]) -> None:
    for variable, array in zip(variables, arrays, strict=True):
        variable.assign(array)


def _fit(
    net: Any, epoch: tuple[np.ndarray, np.ndarray, np.ndarray], batch: int
) -> tuple[tuple[np.ndarray, ...], tuple[np.ndarray, ...]]:
    """Train for an epoch; returns the weights to be judged and those to go on from.

    They differ where the regime has the weights averaged: then Keras puts the
    average into the network when it is done.
    """
    stepped: list[np.ndarray] = []
    keep = load_keras().callbacks.LambdaCallback(
        on_epoch_end=lambda _epoch, _logs: stepped.extend(_arrays(net.trainable_variables))
    )
    values, mask, targets = epoch
    net.fit([values, mask], targets, batch_size=batch, shuffle=False, verbose=0, callbacks=[keep])
    return _arrays(net.trainable_variables), tuple(stepped)


def _after_epoch(
    net: Any,
    held: TrainingData | None,
    regime: Regime,
    state: State,
    rate: float,
    judged: tuple[np.ndarray, ...],
    stepped: tuple[np.ndarray, ...],
) -> State:
    best, losses = state.best, state.losses
    if held is None:
        best = judged
    else:
        # As a copy: the network may share its memory with the average, and give it away.
        _assign(net.trainable_variables, judged)
        loss = _held_loss(net, held, regime)
        if not best or loss < min(losses):
            best = judged
        losses = (*losses, loss)
    _assign(net.trainable_variables, stepped)
    return State(losses, (*state.rates, rate), _arrays(_variables(net)), best)


def _held_loss(net: Any, held: TrainingData, regime: Regime) -> float:
    """Loss on the validation clips, infinite where the network has diverged."""
    clips = len(held.labels)
    filled = np.resize(np.arange(clips), -(-clips // HELD_AT_ONCE) * HELD_AT_ONCE)
    inputs = [held.values[filled], held.mask[filled].astype(np.float32)]
    logits = net.predict(inputs, batch_size=HELD_AT_ONCE, verbose=0)[:clips]
    logs = log_softmax(logits.astype(np.float64), axis=1)
    right = logs[np.arange(clips), held.labels]
    smoothed = (1 - regime.label_smoothing) * right + regime.label_smoothing * logs.mean(axis=1)
    loss = -float(smoothed.mean())
    return loss if np.isfinite(loss) else float("inf")


def _with_copies(data: TrainingData, course: Course) -> TrainingData:
    """The training clips and the regime's augmented copies of them, drawn once."""
    if course.regime.copies == 0:
        return data
    rng = np.random.default_rng([course.seed, 0])
    copies = [
        _augmented(data.values, data.mask, course.regime, rng) for _ in range(course.regime.copies)
    ]
    return TrainingData(
        np.concatenate([data.values, *(values for values, _ in copies)]),
        np.concatenate([data.mask, *(mask for _, mask in copies)]),
        np.tile(data.labels, 1 + course.regime.copies),
        data.classes,
    )


def _epoch(
    clips: TrainingData, course: Course, epoch: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Values, mask and one-hot targets of whole batches, float32, in the order to be seen."""
    regime = course.regime
    rng = np.random.default_rng([course.seed, epoch])
    batches = -(-len(clips.labels) // regime.batch)
    order = np.resize(rng.permutation(len(clips.labels)), batches * regime.batch)
    values, mask = clips.values[order], clips.mask[order]
    if regime.copies == 0:
        values, mask = _augmented(values, mask, regime, rng)
    targets = np.eye(clips.classes, dtype=np.float32)[clips.labels[order]]
    return values, mask.astype(np.float32), targets


def _augmented(
    values: np.ndarray, mask: np.ndarray, regime: Regime, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    dims = values.shape[2] // mask.shape[2]
    zeros = regime.preprocessing == ZEROS
    parts = [
        augmented(
            values[k : k + CLIPS_AT_ONCE],
            mask[k : k + CLIPS_AT_ONCE],
            dims,
            regime.augmentation,
            rng,
            zeros=zeros,
        )
        for k in range(0, len(values), CLIPS_AT_ONCE)
    ]
    return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])


def rate_of(regime: Regime, done: int, losses: Sequence[float]) -> float:
    """Learning rate of the epoch after ``done`` epochs with these losses on the validation clips.

    ``plateau``: halved whenever five epochs have brought no loss that is lower by
    1e-4, never below 1e-5. ``cosine``: three epochs of warm-up, then half a wave
    down to a hundredth.
    """
    if regime.schedule == "plateau":
        return _plateau_rate(regime.learning_rate, losses)
    if done < WARM_UP_EPOCHS:
        return regime.learning_rate * (done + 1) / (WARM_UP_EPOCHS + 1)
    share = (done - WARM_UP_EPOCHS) / max(regime.epochs - 1 - WARM_UP_EPOCHS, 1)
    wave = (1 + float(np.cos(np.pi * share))) / 2
    return regime.learning_rate * (LAST_SHARE + (1 - LAST_SHARE) * wave)


def _plateau_rate(rate: float, losses: Sequence[float]) -> float:
    """As ``ReduceLROnPlateau`` of Keras would have it after these epochs."""
    best, waited = float("inf"), 0
    for loss in losses:
        if loss < best - PLATEAU_GAIN:
            best, waited = loss, 0
        else:
            waited += 1
        if waited == PLATEAU_PATIENCE:
            rate, waited = max(rate * PLATEAU_FACTOR, LOWEST_RATE), 0
    return rate


def stopped(losses: Sequence[float], patience: int) -> bool:
    """Whether the last ``patience`` epochs were no better than the best before them."""
    return len(losses) > 0 and len(losses) - 1 - int(np.argmin(losses)) >= patience
