"""Groups recovered from recording numbers, and groups joined."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snellen.core.cells import NotMeasurable
from snellen.core.corpus import make_corpus
from snellen.core.groups import Groups, groups_of, joined, list_order


def recorded(rows, stream="MOV"):
    """A corpus from (word folder, recording number) pairs, all of one category."""
    items = [f"Animals/{word}/MVI_{number:04d}.{stream}" for word, number in rows]
    labels = [word.partition(". ")[2].upper() or word.upper() for word, _ in rows]
    columns = {
        "number": [number for _, number in rows],
        "stream": [stream] * len(rows),
        "category": ["Animals"] * len(rows),
    }
    return make_corpus("hand made", items, labels, columns=columns)


def groups(corpus, level, **options):
    """The groups as sets of recording numbers."""
    found = groups_of(corpus, level, **options)
    numbers = corpus.clips.column("number").to_pylist()
    return {
        frozenset(n for n, g in zip(numbers, found.names, strict=True) if g == name)
        for name in set(found.names)
    }


def test_a_cluster_is_cut_where_the_gap_is_wider_than_asked():
    corpus = recorded([("1. Dog", n) for n in (1, 2, 12, 23)])

    assert groups(corpus, "cluster") == {frozenset({1, 2, 12}), frozenset({23})}
    assert groups(corpus, "cluster", gap=9) == {frozenset({1, 2}), frozenset({12}), frozenset({23})}


def test_two_signs_or_two_cameras_never_share_a_cluster():
    corpus = make_corpus(
        "hand made",
        ["a", "b", "c"],
        ["DOG", "CAT", "DOG"],
        columns={"number": [5, 5, 5], "stream": ["MOV", "MOV", "MP4"]},
    )

    assert groups_of(corpus, "cluster").count == 3


def test_a_sitting_is_one_pass_through_the_word_list():
    first = [("1. Dog", 1), ("2. Cat", 4), ("3. Fish", 7)]
    second = [("1. Dog", 20), ("2. Cat", 23), ("3. Fish", 26)]

    assert groups(recorded(first + second), "sitting") == {
        frozenset({1, 4, 7}),
        frozenset({20, 23, 26}),
    }


def test_a_word_that_was_skipped_does_not_end_a_sitting():
    corpus = recorded([("1. Dog", 1), ("3. Fish", 4), ("1. Dog", 20), ("2. Cat", 23)])

    assert groups(corpus, "sitting") == {frozenset({1, 4}), frozenset({20, 23})}


def test_two_people_recorded_in_turn_with_interleaved_numbers_are_one_sitting():
    # Cautious: the numbers overlap, so who is who cannot be told for certain.
    corpus = recorded(
        [("1. Dog", 1), ("2. Cat", 5), ("1. Dog", 13), ("3. Fish", 14), ("2. Cat", 16)]
    )

    assert groups(corpus, "sitting") == {frozenset({1, 5, 13, 14, 16})}


def test_a_sitting_ends_where_nothing_follows_within_sixty_numbers():
    assert len(groups(recorded([("1. Dog", 1), ("2. Cat", 61)]), "sitting")) == 1
    assert len(groups(recorded([("1. Dog", 1), ("2. Cat", 62)]), "sitting")) == 2


def test_a_list_numbered_past_99_runs_over_to_1():
    # As in INCLUDE: adjectives 78..99 and on with 1, 2, 3 were signed in that order.
    rows = [("98. sick", 1), ("99. healthy", 4), ("1. loud", 7)]
    again = [(word, number + 20) for word, number in rows]

    assert groups(recorded(rows + again), "sitting") == {
        frozenset({1, 4, 7}),
        frozenset({21, 24, 27}),
    }


def test_a_word_without_a_number_belongs_to_the_sitting_around_it():
    corpus = recorded([("80. Minute", 1), ("Second (Number)", 4), ("82. Morning", 7)])

    assert len(groups(corpus, "sitting")) == 1


def test_a_list_starts_after_the_widest_hole_in_its_numbers():
    assert list(list_order([1, 2, 3, 39, 78, 99])) == [78, 99, 1, 2, 3, 39]
    assert list(list_order([24, 28, 50])) == [24, 28, 50]
    assert list_order([]) == {}


@pytest.mark.parametrize(
    ("level", "needed"),
    [
        ("cluster", "number of every clip"),
        ("sitting", "number and category of every clip"),
        ("session", "session of every clip"),
        ("signer", "signer of every clip"),
    ],
)
def test_an_unknown_level_says_what_it_would_need_and_what_there_is(level, needed):
    corpus = make_corpus("bare", ["a", "b"], ["X", "Y"], columns={"signer": ["S1", None]})

    found = groups_of(corpus, level)

    assert isinstance(found, NotMeasurable)
    assert found.needed == needed
    assert ("1 of 2 clips" if level == "signer" else "0 of 2 clips") in found.have


def test_sittings_need_folders_numbered_in_list_order():
    columns = {"number": [1, 2], "category": ["A", "A"]}

    found = groups_of(make_corpus("flat", ["a", "b"], ["X", "Y"], columns=columns), "sitting")

    assert isinstance(found, NotMeasurable)
    assert "numbered" in found.needed


def test_an_unknown_name_of_a_level_is_refused():
    with pytest.raises(ValueError, match="no level 'take'"):
        groups_of(recorded([("1. Dog", 1)]), "take")


def test_joined_groups_tear_neither_side_apart():
    a = Groups("sitting", "a", ("s1", "s1", "s2", "s3"))
    b = Groups("cluster", "b", ("c1", "c2", "c2", "c3"))

    assert joined(a, b).names == ("s1", "s1", "s1", "s3")
    assert joined(a, b).level == "sitting"


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=30))
def test_joining_is_coarser_than_both_and_no_coarser_than_needed(pairs):
    a = Groups("sitting", "a", tuple(f"s{x}" for x, _ in pairs))
    b = Groups("cluster", "b", tuple(f"c{y}" for _, y in pairs))

    both = joined(a, b)

    for fine in (a, b):
        assert len(set(zip(fine.names, both.names, strict=True))) == fine.count
    # Every further merge would be one too many: each joined group is connected.
    for name in set(both.names):
        rows = [k for k, x in enumerate(both.names) if x == name]
        reached = {rows[0]}
        while True:
            seen = {a.names[k] for k in reached}, {b.names[k] for k in reached}
            more = {k for k in rows if a.names[k] in seen[0] or b.names[k] in seen[1]}
            if more == reached:
                break
            reached = more
        assert reached == set(rows)


def test_codes_number_the_sorted_names():
    np.testing.assert_array_equal(Groups("signer", "d", ("S2", "S1", "S2")).codes, [1, 0, 1])
