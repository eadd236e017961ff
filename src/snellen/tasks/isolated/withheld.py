"""Classes taken out of the vocabulary on purpose, to see what a model says of the unknown.

A withheld class is never trained; its clips stay in the test sets, where every
answer to them is a false alarm. Which classes go is drawn by the seed.

*Conventions*: the truth of a withheld clip becomes null, as that of any clip
out of vocabulary, so that splits, cards and gates treat it like one.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from snellen.core.corpus import TRUTH, Corpus
from snellen.errors import BadInput, Fault

__all__ = ["withheld"]


def withheld(corpus: Corpus, classes: int, seed: int) -> Corpus:
    """The corpus with ``classes`` of its classes out of vocabulary.

    Raises:
        BadInput: fewer than two classes would be left.
    """
    if classes == 0:
        return corpus
    most = len(corpus.vocabulary) - 2
    if classes > most:
        seen = f"{classes} of {len(corpus.vocabulary)} classes"
        raise BadInput(Fault("withhold", seen, f"at most {max(most, 0)}: two must be left"))
    chosen = np.random.default_rng(seed).choice(len(corpus.vocabulary), classes, replace=False)
    gone = {corpus.vocabulary[k] for k in chosen}
    labels = [None if label in gone else label for label in corpus.labels]
    truth = pa.table([corpus.truth.column("item"), pa.array(labels, pa.string())], schema=TRUTH)
    return Corpus(
        name=corpus.name,
        clips=corpus.clips,
        truth=truth.combine_chunks(),
        vocabulary=tuple(label for label in corpus.vocabulary if label not in gone),
        silent=(*corpus.silent, f"{len(gone)} classes were withheld: {', '.join(sorted(gone))}"),
        features=corpus.features,
    )
