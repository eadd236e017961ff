from dataclasses import replace

from msgspec.structs import replace as changed

from snellen.core.cells import NotMeasurable, NotMeasured
from snellen.report.bundle import (
    card_names,
    clips_scored,
    findings,
    leak_warning,
    silences,
    unmeasured,
)


def test_the_headline_is_the_ladders_and_not_the_first_card(bundle):
    assert bundle.headline_protocol == "signer out"
    assert bundle.headline_winner.model == "MiniRocket + ridge"
    assert [card.model for card in bundle.lead_cards] == [
        "Extra trees",
        "MiniRocket + ridge",
        "Shrinkage LDA",
    ]


def test_without_a_ladder_the_first_cards_protocol_leads(bundle):
    assert replace(bundle, ladder=None).headline_protocol == "random"


def test_two_seeds_of_one_model_get_names_that_differ(bundle):
    card = bundle.cards[0]
    other = changed(card, contract=card.contract | {"seed": "43"})
    assert card_names((card, other)) == (
        "Extra trees, random, seed 42",
        "Extra trees, random, seed 43",
    )


def test_leaks_come_before_warnings_and_notes(bundle):
    assert [x.severity for x in findings(bundle.audit)] == ["leak", "warning", "note"]


def test_a_silence_said_by_audit_and_cards_is_listed_once(bundle):
    assert silences(bundle) == (
        "Which hand each signer prefers.",
        "Whether two sessions were recorded on one day.",
    )


def test_everything_without_a_figure_is_listed_once_with_all_its_places(bundle):
    rows = [(row.where, row.what) for row in unmeasured(bundle)]
    assert rows == [
        ("audit", "groups: cluster"),
        ("audit of random; audit of signer out", "level: sitting"),
        ("protocol ladder", "protocol official"),
        ("protocol ladder", "accuracy of Shrinkage LDA, session out"),
        ("protocol ladder", "macro F1 of Shrinkage LDA, session out"),
        ("all 9 cards", "accuracy (two-handed signs)"),
        ("all 9 cards", "latency (all)"),
        ("all 9 cards", "AURC (out of vocabulary)"),
        ("all 9 cards", "robustness (left hand missing)"),
        (
            "; ".join(f"MiniRocket + ridge, {p}" for p in ("random", "session out", "signer out")),
            "recall of <script>alert(1)</script>",
        ),
    ]


def test_an_empty_bundle_misses_nothing_and_has_no_headline(empty_bundle):
    assert unmeasured(empty_bundle) == ()
    assert empty_bundle.headline_protocol is None


def rung_of(ladder, protocol, **missing):
    """A ladder of one leaking rung, and the protocols that were left out."""
    rung = changed(ladder.rungs[0], protocol=protocol)
    return changed(ladder, rungs=(rung,), headline=protocol, missing_rungs=missing)


def test_a_stricter_protocol_that_was_not_asked_for_is_not_called_impossible(bundle):
    left_out = NotMeasured(reason="not asked for", command="snellen run isolated D")
    impossible = NotMeasurable(reason="no signer", needed="signers", have="none")
    asked = leak_warning(rung_of(bundle.ladder, "official", sitting=left_out))
    could = leak_warning(rung_of(bundle.ladder, "official", random=left_out, signer=impossible))
    assert asked.startswith("The strictest protocol that was asked for lets")
    assert could.startswith("Even the strictest protocol that could be run lets")


def test_nothing_warns_of_a_headline_without_a_leak(bundle):
    assert leak_warning(bundle.ladder) is None


def test_clips_that_the_headline_does_not_test_are_not_counted_as_scored(bundle):
    assert clips_scored(bundle.ladder) == "1,000 clips"
    assert clips_scored(changed(bundle.ladder, clips=1108)) == "1,000 of 1,108 clips scored"
