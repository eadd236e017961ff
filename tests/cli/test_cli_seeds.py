"""Seeds on the command line: whole numbers, each once, however they are written."""

import pytest

from snellen.cli.options import HIGHEST_SEED, seeds_of, threshold_of
from snellen.errors import BadInput


def test_seeds_are_whole_numbers_in_the_order_given():
    assert seeds_of("44,42, 43") == (44, 42, 43)
    assert seeds_of(None) is None


@pytest.mark.parametrize(
    "text", ["1,01", "4,4", "-1", "1.5", "a", "9" * 5000, str(HIGHEST_SEED + 1)]
)
def test_what_is_no_seed_or_is_one_twice_is_refused(text):
    with pytest.raises(BadInput, match="--seeds"):
        seeds_of(text)


def test_the_environment_sets_the_threshold_unless_the_option_does(monkeypatch):
    monkeypatch.setenv("SNELLEN_CONFIDENCE_THRESHOLD", "0.55")

    assert threshold_of(None) == 0.55
    assert threshold_of(0.9) == 0.9


def test_a_threshold_in_the_environment_that_is_no_share_is_refused(monkeypatch):
    monkeypatch.setenv("SNELLEN_CONFIDENCE_THRESHOLD", "nan")

    with pytest.raises(BadInput, match="SNELLEN_CONFIDENCE_THRESHOLD"):
        threshold_of(None)
