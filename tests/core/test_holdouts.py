"""Holdouts drawn class by class, beside the plainest way to write them down."""

import numpy as np
import pytest

from snellen.core.corpus import make_corpus
from snellen.core.groups import Groups
from snellen.core.holdouts import official_roles, session_disjoint_roles
from snellen.core.split import TEST, TRAIN, UNUSED, VALIDATION


def drawn(n, classes, clusters, seed):
    """Some clips without a label, some without a number, classes of one clip among them."""
    rng = np.random.default_rng(seed)
    labels = [None if rng.random() < 0.1 else f"W{rng.integers(classes)}" for _ in range(n)]
    numbers = [None if rng.random() < 0.2 else int(rng.integers(50)) for _ in range(n)]
    official = ["test" if rng.random() < 0.2 else "train" for _ in range(n)]
    columns = {"number": numbers, "official": official}
    corpus = make_corpus("drawn", [f"c{k:03d}" for k in range(n)], labels, columns=columns)
    names = tuple(f"{rng.integers(clusters)}-{rng.integers(99)}" for _ in range(n))
    return corpus, Groups("cluster", "takes", names)


CORPORA = [drawn(30, 2, 4, 0), drawn(120, 15, 9, 1), drawn(200, 90, 200, 2), drawn(12, 1, 2, 3)]


def set_apart_by_scanning(corpus, roles, rng):
    numbers = corpus.column("number")
    order = sorted(range(len(corpus)), key=lambda row: (numbers[row] or 0, row))
    for label in sorted(corpus.vocabulary):
        rows = [row for row in order if corpus.labels[row] == label and roles[row] == TRAIN]
        if len(rows) > 1:
            take = max(1, round(0.1 * len(rows)))
            for k in rng.permutation(len(rows))[:take]:
                roles[rows[k]] = VALIDATION


@pytest.mark.parametrize(("corpus", "clusters"), CORPORA)
def test_validation_clips_are_those_that_scanning_all_clips_for_each_class_draws(corpus, clusters):
    expected = np.array([TEST if x == "test" else TRAIN for x in corpus.column("official")])
    expected[(corpus.classes < 0) & (expected == TRAIN)] = UNUSED
    set_apart_by_scanning(corpus, expected, np.random.default_rng(5))

    roles = official_roles(corpus, np.random.default_rng(5), validation=True)

    assert roles.tolist() == [expected.tolist()]


def nearest_by_scanning(rest, wanted):
    taken = []
    while rest:
        missing = max(1, wanted) - sum(map(len, taken))
        best = min(range(len(rest)), key=lambda k: (abs(missing - len(rest[k])), -len(rest[k]), k))
        if taken and abs(missing - len(rest[best])) >= abs(missing):
            break
        taken.append(rest.pop(best))
    return taken


@pytest.mark.parametrize(("corpus", "clusters"), CORPORA)
def test_clusters_are_those_that_scanning_all_clips_for_each_class_draws(corpus, clusters):
    rng = np.random.default_rng(5)
    expected = [TRAIN if label else UNUSED for label in corpus.labels]
    for label in [*sorted(corpus.vocabulary), None]:
        rows = [row for row in range(len(corpus)) if corpus.labels[row] == label]
        names = sorted({clusters.names[row] for row in rows})
        members = [[row for row in rows if clusters.names[row] == name] for name in names]
        rest = [members[k] for k in rng.permutation(len(members))]
        for role, share in ((TEST, 0.15), (VALIDATION, 0.1)):
            for cluster in nearest_by_scanning(rest, round(share * len(rows))):
                for row in cluster:
                    expected[row] = role if label or role == TEST else UNUSED

    roles = session_disjoint_roles(corpus, clusters, np.random.default_rng(5), validation=True)

    assert roles.tolist() == [expected]
