"""Canonical bytes and digests: the same content gives the same digest anywhere.

*Conventions*: a digest is lower-case hexadecimal SHA-256. Canonical JSON has
sorted keys, UTF-8, no NaN; floats are rounded to 12 significant digits, which
is above the noise of another processor's summation order and below anything
a reader could use.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any

import numpy as np
import pyarrow as pa

__all__ = [
    "canonical_json",
    "digest_array",
    "digest_bytes",
    "digest_json",
    "digest_table",
    "rounded",
]

SIGNIFICANT_DIGITS = 12
UNORDERED_OR_RAW = (AbstractSet, bytes, bytearray, memoryview)


def rounded(value: Any) -> Any:
    """``value`` with every float in it rounded to 12 significant digits and -0.0 as 0.0.

    Raises:
        TypeError: what has no order or no text of its own: sets, bytes, keys that are no strings.
        ValueError: NaN or infinity.

    >>> rounded({"a": [1 / 3, 2]})
    {'a': [0.333333333333, 2]}
    """
    if isinstance(value, bool) or value is None or isinstance(value, (str, int)):
        return value
    if isinstance(value, (float, np.floating)):
        if not np.isfinite(value):
            raise ValueError(f"{value!r} cannot be stored: use None or a cell state")
        return float(f"{float(value):.{SIGNIFICANT_DIGITS}g}") + 0.0  # -0.0 + 0.0 is 0.0
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, Mapping):
        strange = [key for key in value if not isinstance(key, str)]
        if strange:
            raise TypeError(f"a key of type {type(strange[0]).__name__} has no canonical form")
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, UNORDERED_OR_RAW):
        return [rounded(item) for item in value]
    raise TypeError(f"{type(value).__name__} has no canonical form")


def canonical_json(value: Any, *, indent: int | None = None) -> bytes:
    """JSON with sorted keys and rounded floats, ending in a newline when indented.

    >>> canonical_json({"b": 0.1 + 0.2, "a": None})
    b'{"a":null,"b":0.3}'
    """
    separators = (",", ":") if indent is None else (",", ": ")
    text = json.dumps(
        rounded(value),
        sort_keys=True,
        ensure_ascii=False,
        allow_nan=False,
        separators=separators,
        indent=indent,
    )
    return (text if indent is None else text + "\n").encode("utf-8")


def digest_bytes(data: bytes | memoryview) -> str:
    """SHA-256 of bytes, in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def digest_json(value: Any) -> str:
    """SHA-256 of the canonical JSON of ``value``."""
    return digest_bytes(canonical_json(value))


def digest_array(array: np.ndarray) -> str:
    """SHA-256 of an array's little-endian bytes together with its type and shape."""
    array = np.ascontiguousarray(array)
    little = array.astype(array.dtype.newbyteorder("<"), copy=False)
    head = f"{little.dtype.str}|{little.shape}|".encode()
    digest = hashlib.sha256(head)
    digest.update(little.data.cast("B") if little.size else b"")
    return digest.hexdigest()


def digest_table(table: pa.Table) -> str:
    """SHA-256 of a table's *content*: names, types and values, in the given row order.

    Compression, row groups and chunking do not matter.
    """
    digest = hashlib.sha256()
    for name in table.column_names:
        column = table.column(name)
        digest.update(canonical_json([name, str(column.type)]))
        digest.update(canonical_json(column.to_pylist()))
    return digest.hexdigest()
