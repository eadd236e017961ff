"""How much Snellen reads from a file it does not trust, as named constants.

*Conventions*: sizes in bytes, checked before anything is parsed or allocated. A
file over a limit is a ``BadInput`` that names the limit, never a crash of the
machine. A limit is far above anything recorded so far: reaching it means that
the file is not what its name says.
"""

from __future__ import annotations

__all__ = [
    "MAX_CLIPS",
    "MAX_COLLECTION_BYTES",
    "MAX_FRAMES",
    "MAX_ID_LENGTH",
    "MAX_LABEL_LENGTH",
    "MAX_LAYOUT_POINTS",
    "MAX_NPY_BYTES",
    "MAX_NPZ_MEMBERS",
    "MAX_NPZ_RATIO",
    "MAX_ONNX_BYTES",
    "MAX_ONNX_NODES",
    "MAX_ONNX_VALUES",
    "MAX_PICKLE_BYTES",
    "MAX_PICKLE_STEPS",
    "MAX_SETTINGS_BYTES",
    "MAX_TABLE_BYTES",
    "NPZ_RATIO_FREE_BYTES",
]

MAX_CLIPS = 1_000_000
MAX_FRAMES = 200_000
MAX_ID_LENGTH = 200
MAX_LABEL_LENGTH = 128

MAX_TABLE_BYTES = 512 * 2**20
MAX_SETTINGS_BYTES = 1_000_000
MAX_LAYOUT_POINTS = 10_000

MAX_NPY_BYTES = 2 * 2**30
MAX_COLLECTION_BYTES = 8 * 2**30
MAX_NPZ_MEMBERS = 64
# A mask of ones packs a thousandfold and is honest; a member this small cannot hurt.
NPZ_RATIO_FREE_BYTES = 16 * 2**20
MAX_NPZ_RATIO = 100

MAX_PICKLE_BYTES = 64 * 2**20
MAX_PICKLE_STEPS = 1_000

MAX_ONNX_BYTES = 256 * 2**20
MAX_ONNX_NODES = 2_000
# Numbers that a graph computes for one clip on its way, all together.
MAX_ONNX_VALUES = 4 * 2**20
