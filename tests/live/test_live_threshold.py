"""Who decides at which confidence a sign is said: the environment, then the profile a little."""

import pytest

from snellen.errors import BadInput
from snellen.live.threshold import resolve_threshold

OURS, THEIRS = "SNELLEN_CONFIDENCE_THRESHOLD", "ISL_CONFIDENCE_THRESHOLD"


def test_nobody_asking_for_anything_gives_the_shipped_threshold():
    assert resolve_threshold({}, None) == 0.70


def test_our_variable_wins_over_that_of_the_reference_system():
    assert resolve_threshold({OURS: "0.8", THEIRS: "0.5"}, None) == 0.8
    assert resolve_threshold({THEIRS: "0.5"}, None) == 0.5


@pytest.mark.parametrize(
    ("asked", "given"), [(0.75, 0.75), (0.95, 0.9), (0.9, 0.9), (0.3, 0.5), (0.0, 0.5), (1.0, 0.9)]
)
def test_a_profile_moves_the_threshold_by_a_fifth_at_most(asked, given):
    assert resolve_threshold({}, asked) == given


def test_a_profile_moves_what_the_environment_says_and_stays_a_share():
    assert resolve_threshold({OURS: "0.95"}, 1.0) == 1.0
    assert resolve_threshold({OURS: "0.1"}, 0.0) == 0.0
    assert resolve_threshold({OURS: "0.4"}, 0.9) == 0.6


@pytest.mark.parametrize("text", ["0", "1", "1.0", ".5", "0.70", "1."])
def test_plain_numbers_from_0_to_1_are_read(text):
    assert resolve_threshold({OURS: text}, None) == float(text)


@pytest.mark.parametrize(
    "text",
    ["", " 0.7", "0,7", "70%", "1.01", "-0.1", "nan", "inf", "1e-1", "0_7", "\u0660.\u0667", "yes"],
)
def test_anything_else_is_refused_by_the_name_of_its_variable(text):
    with pytest.raises(BadInput) as caught:
        resolve_threshold({THEIRS: text}, None)

    (fault,) = caught.value.faults
    assert fault.where == THEIRS
    assert fault.seen == repr(text)
    assert fault.allowed == "a number from 0 to 1, such as 0.7"


def test_all_that_is_wrong_is_named_at_once():
    with pytest.raises(BadInput) as caught:
        resolve_threshold({OURS: "high", THEIRS: "2"}, float("nan"))

    assert [fault.where for fault in caught.value.faults] == [OURS, THEIRS, "profile"]
