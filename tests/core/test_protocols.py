"""Splits by protocol: what is kept apart, what is tested, what is refused."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snellen.core.allocate import Infeasible
from snellen.core.corpus import make_corpus
from snellen.core.groups import Groups, groups_of
from snellen.core.protocols import PROTOCOLS, ladder_protocols, make_split
from snellen.core.split import TEST, TRAIN, UNUSED, VALIDATION, split_to_json
from snellen.digest import canonical_json
from snellen.errors import BadInput

OVER_FOLDS = ("random", "cluster", "sitting", "session", "signer")


def studio(passes=6, words=4, takes=2, unlabelled=0):
    """A corpus that records everything: each signer goes twice through one word list."""
    rows = []
    for number in range(passes):
        for word in range(words):
            for take in range(takes):
                start = 100 * number + 5 * word + take
                signer = f"S{number // 2}"
                folder = f"Animals/{word + 1}. word{word}/MVI_{start:04d}.MOV"
                official = "test" if number % 3 == 2 else "train"
                label = None if word < unlabelled else f"W{word}"
                rows.append((folder, label, signer, f"{signer}/{number % 2}", start, official))
    items, labels, signers, sessions, numbers, official = zip(*rows, strict=True)
    columns = {
        "signer": signers,
        "session": sessions,
        "number": numbers,
        "stream": ["MOV"] * len(rows),
        "category": ["Animals"] * len(rows),
        "official": official,
    }
    return make_corpus("studio", items, labels, columns=columns)


def roles_of(split, name):
    return {
        role: {split.items[k] for k in split.positions(name, role)}
        for role in (TRAIN, VALIDATION, TEST, UNUSED)
    }


def test_a_corpus_that_records_everything_admits_every_protocol_in_order_of_strictness():
    admitted, reasons = ladder_protocols(studio())

    assert admitted == tuple(PROTOCOLS)
    assert admitted[0] == "random"
    assert admitted[-1] == "signer"
    assert reasons == {}


def test_a_bare_corpus_admits_a_random_split_and_says_why_no_other():
    bare = make_corpus("bare", list("abcdef"), ["X", "Y"] * 3)

    admitted, reasons = ladder_protocols(bare)

    assert admitted == ("random",)
    assert set(reasons) == set(PROTOCOLS) - {"random"}
    assert reasons["official"].have == "an empty column"
    assert reasons["signer"].have == "signer of 0 of 6 clips"


def test_two_signers_are_too_few_to_train_validate_and_test_on_different_people():
    reasons = ladder_protocols(studio(passes=4))[1]

    assert (reasons["signer"].needed, reasons["signer"].have) == ("3 signers", "2 signers")


def test_classes_in_too_few_takes_are_named_before_any_search():
    reasons = ladder_protocols(studio(passes=3))[1]

    assert "W0 (3 groups)" in reasons["cluster"].have
    assert reasons["cluster"].needed == "4 clusters of every class, or fewer folds"


@pytest.mark.parametrize("protocol", OVER_FOLDS)
@pytest.mark.parametrize("validation", [True, False])
def test_every_clip_is_tested_exactly_once_over_the_rounds(protocol, validation):
    split = make_split(studio(), protocol, seed=1, validation=validation)

    assert ((split.roles == TEST).sum(axis=0) == 1).all()
    assert (split.roles == VALIDATION).any(axis=1).all() == validation
    assert (split.roles == TRAIN).any(axis=1).all()


@pytest.mark.parametrize("protocol", [p for p in PROTOCOLS if PROTOCOLS[p].protects])
def test_no_protected_group_lies_in_two_roles_of_a_round(protocol):
    corpus = studio()
    split = make_split(corpus, protocol, seed=3)
    groups = groups_of(corpus, PROTOCOLS[protocol].protects)

    for row in split.roles:
        pairs = set(zip(groups.names, row.tolist(), strict=True))
        assert len(pairs) == groups.count


def test_a_sitting_split_tears_no_take_apart_either():
    corpus = studio()
    clusters = groups_of(corpus, "cluster")

    for row in make_split(corpus, "sitting", seed=0).roles:
        assert len(set(zip(clusters.names, row.tolist(), strict=True))) == clusters.count


@pytest.mark.parametrize("protocol", list(PROTOCOLS))
def test_the_same_seed_gives_the_same_bytes_in_whatever_order_the_clips_come(protocol):
    corpus = studio(unlabelled=1)
    order = np.random.default_rng(0).permutation(len(corpus))
    columns = {
        name: [corpus.clips.column(name).to_pylist()[k] for k in order]
        for name in ("signer", "session", "number", "stream", "category", "official")
    }
    shuffled = make_corpus(
        "studio",
        [corpus.items[k] for k in order],
        [corpus.labels[k] for k in order],
        columns=columns,
    )

    first = canonical_json(split_to_json(make_split(corpus, protocol, seed=7)))

    assert first == canonical_json(split_to_json(make_split(shuffled, protocol, seed=7)))


@pytest.mark.parametrize("protocol", ["random", "official", "signer"])
def test_another_seed_draws_another_split(protocol):
    corpus = studio()
    digests = {make_split(corpus, protocol, seed=seed).digest for seed in range(5)}

    assert len(digests) == 5


def test_random_folds_are_even_in_every_class_and_in_all():
    corpus = studio(passes=5, words=3, takes=1)  # 5 clips of each of 3 classes
    split = make_split(corpus, "random", seed=0, folds=2)

    for row in split.roles:
        counts = np.bincount(corpus.classes[row == TEST], minlength=3)
        assert set(counts.tolist()) <= {2, 3}
    assert sorted((split.roles == TEST).sum(axis=1).tolist()) == [7, 8]


def test_random_validation_is_a_tenth_of_each_class_but_at_least_one_clip():
    corpus = studio(passes=6, words=2, takes=5)  # 30 clips a class, 24 trained in a round
    split = make_split(corpus, "random", seed=0)

    for row in split.roles:
        assert np.bincount(corpus.classes[row == VALIDATION]).tolist() == [2, 2]


def test_each_signer_is_left_out_once_and_another_whole_signer_validates():
    corpus = studio()
    split = make_split(corpus, "signer", seed=0)
    signers = np.array(corpus.column("signer"))

    assert split.rounds == 3
    tested = [set(signers[row == TEST]) for row in split.roles]
    validating = [set(signers[row == VALIDATION]) for row in split.roles]
    assert tested == [{"S0"}, {"S1"}, {"S2"}]
    assert sorted(map(sorted, validating)) == [["S0"], ["S1"], ["S2"]]
    assert all(a.isdisjoint(b) for a, b in zip(tested, validating, strict=True))


def test_signers_are_put_into_folds_when_a_number_of_folds_is_given():
    corpus = studio(passes=12)
    split = make_split(corpus, "signer", seed=0, folds=3)
    signers = np.array(corpus.column("signer"))

    assert [len(set(signers[row == TEST])) for row in split.roles] == [2, 2, 2]
    assert split.settings["deviation"] == 0
    assert split.settings["excess"] == 0


def test_more_than_twenty_signers_are_put_into_five_folds():
    corpus = studio(passes=42, words=1, takes=1)

    assert make_split(corpus, "signer", seed=0).rounds == 5


def test_in_folds_the_next_fold_validates():
    split = make_split(studio(), "cluster", seed=0)

    for k in range(split.rounds):
        after = (k + 1) % split.rounds
        np.testing.assert_array_equal(split.roles[k] == VALIDATION, split.roles[after] == TEST)


def test_the_published_split_is_kept_and_a_tenth_of_its_training_set_validates():
    corpus = studio(passes=6, words=2, takes=5)  # 20 train, 10 test clips a class
    row = make_split(corpus, "official", seed=0).roles[0]
    published = np.array(corpus.column("official"))

    assert set(published[row == TEST]) == {"test"}
    assert (row == TEST).sum() == (published == "test").sum()
    assert np.bincount(corpus.classes[row == VALIDATION]).tolist() == [2, 2]


def test_a_published_validation_set_is_used_as_it_is():
    corpus = make_corpus(
        "published",
        list("abcd"),
        ["X"] * 4,
        columns={"official": ["train", "val", "test", "train"]},
    )

    assert make_split(corpus, "official", seed=0).roles.tolist() == [
        [TRAIN, VALIDATION, TEST, TRAIN]
    ]
    without = make_split(corpus, "official", seed=0, validation=False)
    assert without.roles.tolist() == [[TRAIN, TRAIN, TEST, TRAIN]]


def test_the_session_disjoint_holdout_takes_the_clusters_nearest_to_its_shares():
    # 20 clips in clusters of 10, 3, 3, 2, 2: 15 % is 3 clips, 10 % is 2.
    numbers = [*range(100, 110), *range(200, 203), *range(300, 303), 400, 401, 500, 501]
    items = [f"clip{k:02d}" for k in range(20)]
    corpus = make_corpus("one class", items, ["X"] * 20, columns={"number": numbers})

    row = make_split(corpus, "session_disjoint", seed=42).roles[0]

    assert np.bincount(row).tolist() == [15, 2, 3]


def test_of_two_equally_near_clusters_the_larger_is_tested():
    # 13 clips: 15 % rounds to 2; clusters of 1 and 3 are both one off.
    numbers = [*range(100, 109), 200, 300, 301, 302]
    corpus = make_corpus("x", list("abcdefghijklm"), ["X"] * 13, columns={"number": numbers})

    for seed in range(5):
        row = make_split(corpus, "session_disjoint", seed=seed, validation=False).roles[0]
        assert np.flatnonzero(row == TEST).tolist() == [10, 11, 12]


@pytest.mark.parametrize("protocol", list(PROTOCOLS))
def test_clips_out_of_vocabulary_are_tested_or_unused_but_never_learnt(protocol):
    corpus = studio(unlabelled=1)
    split = make_split(corpus, protocol, seed=0)
    strange = corpus.classes < 0

    assert strange.sum() == 12
    assert set(np.unique(split.roles[:, strange])) <= {TEST, UNUSED}
    if protocol in OVER_FOLDS:
        assert ((split.roles[:, strange] == TEST).sum(axis=0) == 1).all()


def test_clips_out_of_vocabulary_are_spread_over_random_folds():
    split = make_split(studio(unlabelled=1), "random", seed=0, folds=4)
    strange = studio(unlabelled=1).classes < 0

    assert (split.roles[:, strange] == TEST).sum(axis=1).tolist() == [3, 3, 3, 3]


def test_a_minimum_that_whole_groups_cannot_hold_is_refused_by_class():
    with pytest.raises(Infeasible, match=r"W0: 12 clips; allowed: at least 16, 4 a fold"):
        make_split(studio(), "sitting", seed=0, min_per_class=4)


def test_a_minimum_that_was_asked_is_held():
    corpus = studio(passes=9)
    split = make_split(corpus, "sitting", seed=0, folds=4, min_per_class=4)

    for row in split.roles:
        assert np.bincount(corpus.classes[row == TEST]).min() >= 4


@pytest.mark.parametrize(
    ("protocol", "options", "message"),
    [
        ("takes", {}, "protocol: 'takes'"),
        ("signer", {"folds": 4}, "4 folds; allowed: 3 to 3"),
        ("signer", {"folds": 1}, "folds: 1; allowed: 2 or more"),
        ("cluster", {"folds": 2}, "2 folds; allowed: 3 to"),
        ("official", {"min_per_class": 1}, "min_per_class: 1; allowed: only where whole groups"),
        ("signer", {"min_per_class": 1}, "min_per_class: 1; allowed: only where whole groups"),
        ("random", {"min_per_class": 1}, "min_per_class: 1; allowed: only where whole groups"),
    ],
)
def test_a_request_that_makes_no_sense_is_refused_with_what_is_allowed(protocol, options, message):
    with pytest.raises(BadInput) as caught:
        make_split(studio(), protocol, seed=0, **options)

    assert message in str(caught.value)


def test_a_corpus_without_signers_cannot_be_split_by_them():
    bare = make_corpus("bare", ["a", "b"], ["X", "Y"])

    with pytest.raises(BadInput, match="bare, protocol signer: signer of 0 of 2 clips"):
        make_split(bare, "signer", seed=0)


def test_a_holdout_keeps_its_one_round_whatever_number_of_folds_is_asked():
    assert make_split(studio(), "official", seed=0, folds=5).rounds == 1


corpora = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 4), st.integers(1, 40)), min_size=6, max_size=40
)


@settings(max_examples=40)
@given(corpora, st.integers(0, 3))
def test_laws_of_any_corpus_hold_under_every_protocol_it_admits(rows, seed):
    corpus = make_corpus(
        "drawn",
        [f"c{k:03d}" for k in range(len(rows))],
        [None if w == 0 and k % 7 == 0 else f"W{w}" for k, (w, _, _) in enumerate(rows)],
        columns={"signer": [f"S{s}" for _, s, _ in rows], "number": [n for *_, n in rows]},
    )
    for protocol in ladder_protocols(corpus)[0]:
        try:
            split = make_split(corpus, protocol, seed=seed)
        except Infeasible as error:
            assert error.faults[0].field  # noqa: PT017 - the class is named
            continue
        tested = (split.roles == TEST).sum(axis=0)
        assert (tested == 1).all() if protocol in OVER_FOLDS else (tested <= 1).all()
        assert not np.isin(split.roles[:, corpus.classes < 0], [TRAIN, VALIDATION]).any()
        if split.protects is not None:
            groups = groups_of(corpus, split.protects)
            assert isinstance(groups, Groups)
            labelled = corpus.classes >= 0
            for row in split.roles:
                used = {
                    (g, r)
                    for g, r, ok in zip(groups.names, row.tolist(), labelled, strict=True)
                    if ok
                }
                assert len(used) == len({g for g, _ in used})
