"""What an audit counts, and what it says."""

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snellen.core.audit import audit_corpus, audit_split, near_pairs_of
from snellen.core.cells import NotMeasurable, NotMeasured
from snellen.core.corpus import make_corpus
from snellen.core.duplicates import near_pairs
from snellen.core.findings import Audit, Share
from snellen.core.protocols import make_split
from snellen.core.split import TEST, TRAIN, UNUSED, VALIDATION, Split

A, V, T, U = TRAIN, VALIDATION, TEST, UNUSED


def corpus_of(labels, *, features="f" * 64, **columns):
    items = [f"c{k}" for k in range(len(labels))]
    return make_corpus("hand made", items, labels, columns=columns, features=features)


def split_of(corpus, *rounds, protects=None):
    return Split("hand made", protects, 0, corpus.items, np.array(rounds, np.int8), {})


def level(audit, name):
    return next(entry for entry in audit.levels if entry.level == name)


def test_crossing_groups_and_touched_clips_counted_by_hand():
    # S1: train, train, test. S2: validation, test. S3: train, validation. S4: test only.
    signers = ["S1", "S1", "S1", "S2", "S2", "S3", "S3", "S4"]
    corpus = corpus_of(["X"] * 8, signer=signers)

    found = level(audit_split(corpus, split_of(corpus, [A, A, T, V, T, A, V, T])), "signer")

    assert found.groups == 4
    assert found.crossing_any == 3
    assert found.crossing_seen == 2
    assert found.pairs == {"train-validation": 1, "train-test": 1, "validation-test": 1}
    assert (found.test_clips_seen, found.test_clips_seen_in_train, found.test_clips) == (2, 1, 3)


def test_counts_are_summed_over_rounds():
    corpus = corpus_of(["X"] * 4, signer=["S1", "S1", "S2", "S2"])

    audit = audit_split(corpus, split_of(corpus, [T, A, T, A], [A, T, A, T]))

    assert level(audit, "signer").crossing_seen == 4
    assert level(audit, "signer").test_clips_seen == 4
    assert audit.sizes == ((2, 0, 2), (2, 0, 2))
    assert (audit.rounds, audit.tested, audit.untested) == (2, 4, 0)


def test_a_cluster_touches_its_own_class_only_and_a_sitting_every_sign():
    items = ["An/1. Dog/a", "An/1. Dog/b", "An/2. Cat/c", "An/2. Cat/d"]
    columns = {"number": [1, 2, 4, 5], "category": ["An"] * 4}
    corpus = make_corpus("hand made", items, ["DOG", "DOG", "CAT", "CAT"], columns=columns)

    audit = audit_split(corpus, split_of(corpus, [A, T, T, T]))

    assert level(audit, "cluster").test_clips_seen == 1
    assert level(audit, "sitting").test_clips_seen == 3


def test_every_touched_level_leaves_a_mark_with_its_sentence():
    corpus = corpus_of(["X"] * 4, signer=["S1", "S1", "S2", "S2"])

    (mark,) = audit_split(corpus, split_of(corpus, [A, T, A, A])).leaks

    assert mark.level == "signer"
    assert mark.sentence == "1 of 1 test clips show a person who is also in training"


def test_groups_in_train_and_validation_only_are_not_counted_as_spanning_train_and_test():
    # Three of four groups touch more than one role, but only one lies on both sides of the test.
    corpus = corpus_of(["X"] * 8, signer=["S1", "S1", "S2", "S2", "S3", "S3", "S4", "S4"])

    (mark,) = audit_split(corpus, split_of(corpus, [A, T, A, V, A, V, A, A])).leaks

    assert mark.sentence.endswith(
        "; 1 of 4 groups lie on both sides. 3 touch more than one of train, validation and test, "
        "which is another count: 2 of these lie in train and validation only"
    )


def test_a_split_that_keeps_a_level_apart_is_not_marked_there():
    corpus = corpus_of(["X"] * 4, signer=["S1", "S1", "S2", "S2"])

    assert audit_split(corpus, split_of(corpus, [A, A, T, T])).leaks == ()


def test_a_single_signer_is_a_finding_of_the_corpus_and_no_mark_of_the_split():
    corpus = corpus_of(["X"] * 2, signer=["S1", "S1"])

    assert audit_split(corpus, split_of(corpus, [A, T])).leaks == ()
    (finding,) = [f for f in audit_corpus(corpus).findings if f.code == "one-signer"]
    assert finding.severity == "warning"
    assert finding.sentence == ("one signer only: nothing here says how a model reads a new person")


def test_duplicates_touch_the_test_clip_whose_copy_is_trained_on():
    corpus = corpus_of(["X"] * 5)
    near = near_pairs(np.eye(5, dtype=np.float32)[[0, 1, 1, 2, 3]], corpus.classes)

    audit = audit_split(corpus, split_of(corpus, [A, A, T, T, T]), exact=((0, 3, 4),), near=near)

    assert level(audit, "exact duplicate").test_clips_seen == 2
    assert level(audit, "near duplicate").groups == 1
    assert level(audit, "near duplicate").test_clips_seen == 1
    assert [mark.level for mark in audit.leaks] == ["exact duplicate", "near duplicate"]


def test_unknown_levels_are_named_with_their_reason():
    with_arrays, without = corpus_of(["X"] * 2), corpus_of(["X"] * 2, features=None)

    unknown = audit_split(with_arrays, split_of(with_arrays, [A, T])).unknown_levels

    assert set(unknown) == {
        "exact duplicate",
        "near duplicate",
        "cluster",
        "sitting",
        "session",
        "signer",
    }
    assert isinstance(unknown["near duplicate"], NotMeasured)
    assert isinstance(unknown["signer"], NotMeasurable)
    bare = audit_split(without, split_of(without, [A, T])).unknown_levels
    assert isinstance(bare["exact duplicate"], NotMeasurable)


def test_an_untouchable_clip_has_no_expected_touch_and_a_certain_one_has_one():
    # 4 clips, 1 tested: a group of two is touched unless its other clip is not trained on.
    corpus = corpus_of(["X"] * 4, signer=["S1", "S1", "S2", "S3"])

    found = level(audit_split(corpus, split_of(corpus, [A, A, T, U])), "signer")

    # S1's two clips meet a training clip with chance 2/3 each, the others never: 1 x (4/3) / 4.
    assert found.expected_seen == pytest.approx(1 / 3)


@given(st.lists(st.integers(0, 3), min_size=3, max_size=8), st.integers(0, 1000))
def test_expected_touches_are_the_mean_over_random_assignments(groups, seed):
    rng = np.random.default_rng(seed)
    corpus = corpus_of(["X"] * len(groups), signer=[f"S{g}" for g in groups])
    row = np.array([TRAIN, TEST] + [int(x) for x in rng.integers(0, 4, len(groups) - 2)], np.int8)
    expected = level(audit_split(corpus, split_of(corpus, row)), "signer").expected_seen

    code = np.array(groups)
    drawn = []
    for _ in range(600):
        mixed = rng.permutation(row)
        trained = set(code[np.isin(mixed, (TRAIN, VALIDATION))])
        drawn.append(sum(g in trained for g in code[mixed == TEST]))

    spread = np.std(drawn) / np.sqrt(len(drawn))
    assert abs(np.mean(drawn) - expected) <= 5 * spread + 1e-9


def test_balance_names_the_class_that_is_tested_least():
    corpus = corpus_of(["X", "X", "X", "Y", "Y", None])

    balance = audit_split(corpus, split_of(corpus, [T, T, A, A, T, T])).balance

    assert (balance.classes_in_every_test, balance.classes) == (2, 2)
    assert (balance.fewest_label, balance.fewest_test_clips, balance.most_test_clips) == ("Y", 1, 2)


def test_a_split_of_other_clips_is_refused():
    corpus, other = corpus_of(["X"] * 2), corpus_of(["X"] * 3)

    with pytest.raises(ValueError, match="other clips"):
        audit_split(corpus, split_of(other, [A, T, A]))


def test_a_corpus_is_described_by_what_it_records():
    corpus = corpus_of(["X", "X", "Y", None], n_frames=[10, 20, 30, 40], signer=["S1", "S2"] * 2)
    share = Share(name="left hand", part=1, whole=4, definition="frames without the left hand")

    audit = audit_corpus(corpus, missing=[share])

    assert (audit.clips, audit.classes, audit.out_of_vocabulary) == (4, 2, 1)
    assert (audit.clips_per_class_min, audit.clips_per_class_max) == (1, 2)
    assert audit.frames == 100
    assert audit.missing == (share,)
    assert audit.groups["signer"] == 2
    assert audit.definitions == {"signer": "clips with the same signer in the corpus's own records"}
    assert isinstance(audit.groups["session"], NotMeasurable)


def test_what_nobody_looked_at_is_not_said_to_be_clean():
    audit = audit_corpus(corpus_of(["X"] * 2))

    assert isinstance(audit.missing, NotMeasured)
    assert isinstance(audit.exact_duplicates, NotMeasured)
    assert isinstance(audit.near_duplicates, NotMeasured)


def test_equal_recordings_under_two_labels_are_a_leak_and_a_conflict():
    audit = audit_corpus(corpus_of(["X", "Y", "X"]), exact=((0, 1),))

    findings = {finding.code: finding for finding in audit.findings}
    assert audit.exact_duplicates == (("c0", "c1"),)
    assert findings["exact-duplicates"].severity == "leak"
    assert "c0 (X), c1 (Y)" in findings["label-conflict"].sentence


@pytest.mark.parametrize(("copies", "severity"), [(2, "leak"), (1, "note")])
def test_many_near_duplicates_are_a_leak_and_few_a_note(copies, severity):
    # 21 or more clips, each its own direction but for the copies: 4 of 22 are many, 2 of 21 few.
    directions = [*range(20), *range(copies)]
    corpus = corpus_of(["X"] * len(directions))
    near = near_pairs_of(corpus, np.eye(20, dtype=np.float32)[directions])

    audit = audit_corpus(corpus, near=near)

    (finding,) = [f for f in audit.findings if f.code == "near-duplicates"]
    assert finding.severity == severity
    assert audit.near_duplicates.clips_touched == 2 * copies
    assert ("any random split of this corpus leaks" in finding.sentence) == (severity == "leak")


def test_near_duplicates_are_not_looked_for_between_two_people():
    corpus = corpus_of(["X", "X"], signer=["S1", "S2"])
    near = near_pairs_of(corpus, np.ones((2, 1), np.float32))

    assert near.pairs.tolist() == []
    assert isinstance(audit_corpus(corpus, near=near).near_duplicates, NotMeasurable)


def test_rare_classes_are_named():
    audit = audit_corpus(corpus_of(["ONE", *["FEW"] * 4, *["MANY"] * 5]))

    findings = {finding.code: finding.sentence for finding in audit.findings}
    assert findings["class-of-one"].startswith("class ONE: fewer than 2 clips")
    assert findings["few-clips"].startswith("class FEW: fewer than 5 clips")


def test_a_class_absent_from_a_published_set_is_named():
    audit = audit_corpus(corpus_of(["X", "X", "DRY"], official=["train", "test", "train"]))

    (finding,) = [f for f in audit.findings if f.code.startswith("not-in-official")]
    assert (finding.code, finding.severity) == ("not-in-official-test", "warning")
    assert finding.sentence == "class DRY: no clip in the published test set"


def test_an_audit_is_stored_and_read_again_without_a_change():
    corpus = corpus_of(["X", "X", "Y", "Y"], signer=["S1", "S2", "S1", "S2"])
    split = make_split(corpus, "random", seed=0, folds=2)
    audit = Audit(
        task="isolated",
        corpus=audit_corpus(corpus),
        splits=(audit_split(corpus, split),),
    )

    assert msgspec.json.decode(msgspec.json.encode(audit), type=Audit) == audit
