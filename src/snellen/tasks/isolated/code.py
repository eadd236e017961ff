"""Which code made a result: a finished round is reused only by the code that would make it again.

*Conventions*: the id covers the source files that decide a round's answers and
the versions of the libraries the models stand on.
"""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

from snellen.digest import digest_bytes, digest_json
from snellen.tasks.isolated.model import model_module
from snellen.tasks.isolated.training import keras_backend, learns_in_epochs

__all__ = ["code_id"]

LIBRARIES = ("numpy", "scipy", "scikit-learn", "aeon", "numba")
# What a model trained in epochs stands on besides.
NETWORK_LIBRARIES = ("keras", "jax", "jaxlib", "tensorflow", "torch", "onnx", "onnxruntime")
NETWORK_FILES = ("model/neural/*.py", "model/*.py")
FILES = (
    "regime.py",
    "model_file.py",
    "align/__init__.py",
    "align/reference.py",
    "align/resample.py",
    "align/snellen.py",
    "rounds.py",
    "training.py",
    "model/features.py",
)


def code_id(model: str) -> str:
    """Digest of the code that trains this model and of the libraries' versions."""
    here = Path(__file__).parent
    module = model_module(model)
    files = [here / name for name in FILES]
    libraries: tuple[str, ...] = LIBRARIES
    if learns_in_epochs(module):
        # A network may be pooled with any other model.
        files += sorted(file for pattern in NETWORK_FILES for file in here.glob(pattern))
        libraries += NETWORK_LIBRARIES
    sources = {file.relative_to(here).as_posix(): digest_bytes(file.read_bytes()) for file in files}
    file = getattr(module, "__file__", None)
    sources[model] = digest_bytes(Path(file).read_bytes()) if file else "built in"
    versions = {x: _version(x) for x in libraries}
    return digest_json({"sources": sources, "libraries": versions, "backend": keras_backend()})


def _version(library: str) -> str:
    try:
        return metadata.version(library)
    except metadata.PackageNotFoundError:
        return "not installed"
