"""Readers: a folder or file of recordings becomes a corpus and its keypoints.

Start with :func:`read`. Formats and how to prepare data of your own are
described in ``docs/data-formats.md``.
"""

from snellen.tasks.isolated.data.formats import FORMATS, Format, read
from snellen.tasks.isolated.data.recordings import Recordings

__all__ = ["FORMATS", "Format", "Recordings", "read"]
