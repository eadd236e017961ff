"""Which format is this? A table of names, and the one function that reads them all.

*Conventions*: a format is recognised by a file of a fixed name, never by looking
into files or by guessing. Formats of one family describe the same recordings;
the first of them that is there is read. Two families in one folder are a fault.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from snellen.errors import BadInput, Fault
from snellen.tasks.isolated.data.recordings import Recordings

__all__ = ["FORMATS", "Format", "read"]

PACKAGE = "snellen.tasks.isolated.data"


@dataclass(frozen=True, slots=True)
class Format:
    """A format by name: ``reader`` is "module:function" of (path, layout or None).

    ``markers`` are the file patterns that prove the format; ``takes_file`` says
    that the reader wants that file rather than the folder it lies in.
    """

    name: str
    family: str
    reader: str
    markers: tuple[str, ...]
    takes_file: bool
    about: str

    def found_in(self, path: Path) -> Path | None:
        """What to hand to the reader if ``path`` is of this format, else None."""
        if path.is_file():
            depths = [marker.count("/") for marker in self.markers if path.match(marker)]
            if not depths:
                return None
            return path if self.takes_file else path.parents[max(depths)]
        for marker in self.markers:
            found = sorted(path.glob(marker))
            if found:
                return found[0] if self.takes_file else path
        return None


def _listed(name: str) -> tuple[str, ...]:
    """Where a published INCLUDE list may lie: plain, prefixed, or as in its repository."""
    folder = "Train_Test_Split" if name.endswith(".csv") else "train_test_paths"
    prefix = "openhands" if name.endswith(".csv") else "include_repo"
    return (name, f"{prefix}_{name}", f"{folder}/{name}")


FORMATS: tuple[Format, ...] = (
    Format(
        "generic",
        "generic",
        "generic:read",
        ("clips.csv", "clips.parquet"),
        takes_file=False,
        about="a folder with clips.csv or clips.parquet and, beside it, features/",
    ),
    Format(
        "isl-kinect-30",
        "isl-kinect-30",
        "isl_kinect:read_packed",
        ("isl_kinect30.npz",),
        takes_file=True,
        about="30 Indian signs, 10 signers, Kinect skeletons: isl_kinect30.npz",
    ),
    Format(
        "isl-kinect-30-small",
        "isl-kinect-30",
        "isl_kinect:read_packed",
        ("isl_kinect30_small.npz",),
        takes_file=True,
        about="the same, upper body, every clip resampled to 32 frames: isl_kinect30_small.npz",
    ),
    Format(
        "isl-kinect-30-text",
        "isl-kinect-30",
        "isl_kinect:read_text",
        ("*_*_[1-9].txt",),
        takes_file=False,
        about="the same as published: a folder of <sign>_<signer>_<repetition>.txt",
    ),
    Format(
        "auslan",
        "auslan",
        "auslan:read",
        ("auslan_uci.npz",),
        takes_file=True,
        about="95 Auslan signs, 5 signers in 18 sessions, a glove: auslan_uci.npz",
    ),
    Format(
        "msl-150",
        "msl-150",
        "msl150:read",
        ("msl150_demo.npz",),
        takes_file=True,
        about="Mexican signs of one signer, MediaPipe Holistic: msl150_demo.npz",
    ),
    Format(
        "include50",
        "include",
        "include:read_include50",
        _listed("train_include50.csv"),
        takes_file=False,
        about="INCLUDE-50 as OpenHands lists it: train_include50.csv, test_include50.csv",
    ),
    Format(
        "include",
        "include",
        "include:read_include",
        _listed("train_include.csv"),
        takes_file=False,
        about="INCLUDE as OpenHands lists it: train_include.csv, test_include.csv",
    ),
    Format(
        "include50-lists",
        "include",
        "include:read_include50_lists",
        _listed("include50_train.txt"),
        takes_file=False,
        about="INCLUDE-50 as its authors list it: include50_train.txt, _val.txt, _test.txt",
    ),
    Format(
        "include-lists",
        "include",
        "include:read_include_lists",
        _listed("include_train.txt"),
        takes_file=False,
        about="INCLUDE as its authors list it: include_train.txt, _val.txt, _test.txt",
    ),
)


def read(
    path: str | Path,
    *,
    format: str | None = None,  # noqa: A002 - the command line's word for it
    layout: str | None = None,
) -> Recordings:
    """The recordings in a folder or file.

    Args:
        path: the folder, or the marker file itself.
        format: a name of :data:`FORMATS`; without it the format is detected.
        layout: the landmark layout of a generic folder that does not name its own.

    Raises:
        BadInput: nothing or more than one thing recognised, or anything wrong inside,
            with every fault that was found.
    """
    path = Path(path)
    if not path.exists():
        raise BadInput(Fault(str(path), "no such file or folder", _recognised()))
    chosen = _detect(path) if format is None else _by_name(format)
    target = chosen.found_in(path)
    if target is None and path.is_file() and chosen.takes_file:
        target = path  # a renamed file whose format was named
    if target is None:
        raise BadInput(
            Fault(str(path), f"nothing of format {chosen.name}", " or ".join(chosen.markers))
        )
    if layout is not None and chosen.name != "generic":
        raise BadInput(
            Fault(
                str(path), f"layout {layout!r} for format {chosen.name}", "no --layout: it is fixed"
            )
        )
    module, _, function = chosen.reader.partition(":")
    reader: Callable[[Path, str | None], Recordings] = getattr(
        import_module(f"{PACKAGE}.{module}"), function
    )
    return reader(target, layout)


def _detect(path: Path) -> Format:
    found = [entry for entry in FORMATS if entry.found_in(path) is not None]
    families = sorted({entry.family for entry in found})
    if len(families) > 1:
        raise BadInput(
            Fault(
                str(path),
                f"data of {' and '.join(families)}",
                "one kind of data in a folder, or its name given with --format",
            )
        )
    if not found:
        raise BadInput(Fault(str(path), "no data that is recognised", _recognised()))
    return found[0]


def _by_name(name: str) -> Format:
    for entry in FORMATS:
        if entry.name == name:
            return entry
    names = [entry.name for entry in FORMATS]
    near = difflib.get_close_matches(name, names, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise BadInput(Fault("--format", f"unknown format {name!r}", ", ".join(names) + hint))


def _recognised() -> str:
    lines = [f"  {entry.name}: {entry.about}" for entry in FORMATS]
    own = (
        "For recordings of your own make a folder with clips.csv (columns clip_id, label and,"
        " where known, signer, session) and one features/<clip_id>.npy of shape"
        " (frames, points, dims) a clip; docs/data-formats.md shows an example."
    )
    return "\n".join(["one of", *lines, own])
