from dataclasses import replace

from msgspec.structs import replace as changed

from snellen.report.bundle import card_names, findings, silences, unmeasured


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
