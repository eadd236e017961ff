"""A training between two epochs, on disk: what a killed one goes on from.

*Conventions*: one ``.npz``, replaced as a whole after every epoch. The
contract (which model, data, regime, seed) stands in it as JSON; ``variables``
are all of network and optimiser, ``best`` the trainable ones of the epoch to
keep, each list packed into one array of bytes in the network's own order.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from snellen.core.contract import differences
from snellen.digest import canonical_json, digest_array, digest_json
from snellen.errors import BadInput, Fault, Mismatch
from snellen.signal.arrays import read_npz
from snellen.store.files import parse_json, write_atomic

__all__ = ["START", "State", "read_state", "write_state"]

PARTS = ("losses", "rates", "variables", "best")


@dataclass(frozen=True, slots=True)
class State:
    """What a training has come to after ``len(rates)`` epochs.

    ``losses`` are those on the validation clips, none where there are none.
    """

    losses: tuple[float, ...]
    rates: tuple[float, ...]
    variables: tuple[np.ndarray, ...]
    best: tuple[np.ndarray, ...]


START = State((), (), (), ())


def write_state(path: Path, state: State, contract: Mapping[str, str]) -> None:
    """Put a training's state where :func:`read_state` finds it, or leave the one before."""
    parts = {
        "losses": np.array(state.losses, np.float64),
        "rates": np.array(state.rates, np.float64),
        "variables": _packed(state.variables),
        "best": _packed(state.best),
    }
    buffer = io.BytesIO()
    np.savez(
        buffer,
        **parts,  # type: ignore[arg-type]
        contract=_text(canonical_json(dict(contract))),
        digest=_text(_digest(parts).encode()),
    )
    write_atomic(path, buffer.getvalue())


def read_state(
    path: Path,
    contract: Mapping[str, str],
    variables: Sequence[np.ndarray],
    best: Sequence[np.ndarray],
) -> State:
    """The state of the training with this contract; :data:`START` where no file is.

    ``variables`` and ``best`` show the shapes and types of the arrays to be read.

    Raises:
        BadInput: the file is damaged.
        Mismatch: it belongs to another training; each differing field is named.
    """
    if not path.exists():
        return START
    found = read_npz(path, ("contract", "digest", *PARTS), where=str(path))
    parts = {name: found[name] for name in PARTS}
    if found["digest"].tobytes().decode("ascii", "replace") != _digest(parts):
        raise BadInput(Fault(str(path), "not the arrays that were written", "a whole checkpoint"))
    other = parse_json(found["contract"].tobytes(), str(path))
    differing = differences({name: str(value) for name, value in other.items()}, contract)
    if differing:
        raise Mismatch(
            f"{path} is the checkpoint of another training (there against here); "
            "remove it to start anew",
            differing,
        )
    return State(
        losses=tuple(parts["losses"].tolist()),
        rates=tuple(parts["rates"].tolist()),
        variables=_unpacked(parts["variables"], variables, path, "variables"),
        best=_unpacked(parts["best"], best, path, "best"),
    )


def _digest(parts: Mapping[str, np.ndarray]) -> str:
    return digest_json({name: digest_array(array) for name, array in parts.items()})


def _text(data: bytes) -> np.ndarray:
    return np.frombuffer(data, np.uint8)


def _packed(arrays: Sequence[np.ndarray]) -> np.ndarray:
    return _text(b"".join(np.ascontiguousarray(array).tobytes() for array in arrays))


def _unpacked(
    packed: np.ndarray, like: Sequence[np.ndarray], path: Path, field: str
) -> tuple[np.ndarray, ...]:
    sizes = [array.nbytes for array in like]
    if len(packed) != sum(sizes):
        seen = f"{len(packed):,} bytes"
        raise BadInput(Fault(str(path), seen, f"{sum(sizes):,} bytes", field=field))
    parts = np.split(packed, np.cumsum(sizes)[:-1])
    return tuple(
        part.view(array.dtype).reshape(array.shape) for part, array in zip(parts, like, strict=True)
    )
