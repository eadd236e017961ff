"""Snellen: an eye chart for models that watch people.

It measures how well a model reads signs, gestures and faces in video, and
says plainly what it could not measure. The command line is ``snellen``; the
Python interface is in :mod:`snellen.metrics` (pure functions on arrays),
:mod:`snellen.core` (corpus, split, answers, card) and :mod:`snellen.tasks`.
"""

__version__ = "0.1.0"

__all__ = ["__version__"]
