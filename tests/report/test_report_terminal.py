import io
import re

from msgspec.structs import replace as changed
from rich.console import Console

from snellen.report.terminal import audit_tables, card_table, ladder_table


def shown(renderable, width=80):
    console = Console(file=io.StringIO(), width=width, force_terminal=True, color_system=None)
    console.print(renderable)
    return console.file.getvalue()


def test_four_models_under_three_protocols_fit_eighty_columns_unbroken(large_bundle):
    lines = shown(ladder_table(large_bundle.ladder)).splitlines()
    assert max(map(len, lines)) <= 80
    row = next(line for line in lines if "MiniRocket + ridge " in line)
    assert row.split("ridge")[1].split() == [
        "75.7",
        "[71.2,",
        "80.2]",
        "63.4",
        "[58.9,",
        "67.9]",
        "37.7",
        "[33.2,",
        "42.2]",
    ]


def test_the_ladder_names_leaks_gaps_the_flip_and_what_failed(bundle):
    text = shown(ladder_table(bundle.ladder), 200)
    assert "session, signer" in text
    assert "Extra trees: random minus signer out +56.2 [+53.1, +59.3] points" in text
    assert "The leaky protocol picks Extra trees" in text
    assert "Shrinkage LDA, session out: failed: singular covariance in round 3" in text
    assert "protocol official: not measurable: the data brings no official split" in text


def test_a_leaking_headline_is_said_under_the_table(bundle):
    honest = shown(ladder_table(bundle.ladder), 200)
    leaky = shown(ladder_table(changed(bundle.ladder, headline="session out")), 200)
    assert "leaks. Even the strictest protocol" not in honest
    assert "The figure under session out leaks. Even the strictest protocol" in leaky
    assert "signer: 1,000 of 1,000 test clips show a person who is also in training" in leaky
    assert leaky.index("leaks. Even") < leaky.index("random minus signer out")


def test_a_card_gives_the_reason_of_each_state_below_its_table(bundle):
    text = shown(card_table(bundle.cards[0]), 200)
    assert (
        "latency, all: not measured: no timing was taken; to measure it: snellen bench RUN" in text
    )
    assert "robustness, left hand missing: failed: the perturbed clips changed nothing" in text
    assert "leak: 1,000 of 1,000 test clips show a person who is also in training" in text
    assert "5 figures of single slices are in the card." in text
    assert "0.184 [0.171, 0.198]" in text


def test_what_all_figures_rest_on_is_said_once_below_the_table(bundle):
    text = shown(card_table(bundle.cards[0]))
    assert text.count("1,000 clips, 5 groups") == 1
    assert "Every figure rests on 1,000 clips, 5 groups." in text
    assert "see below" not in text


def test_figures_that_rest_on_different_clips_say_so_in_their_row(bundle):
    first, *rest = bundle.cards[0].scores
    fewer = changed(first, cell=changed(first.cell, n=1, groups=1))
    text = shown(card_table(changed(bundle.cards[0], scores=(fewer, *rest))), 100)
    assert "1 clip, 1 group\n" in re.sub(" +\n", "\n", text)
    assert "Every figure rests on" not in text
    assert "see below" in text


def test_figures_without_an_interval_give_their_reason_once(bundle):
    why = "no interval: the protocol protects no group"
    scores = tuple(
        changed(x, cell=changed(x.cell, low=None, high=None, method=why))
        if x.measure in ("accuracy", "macro_f1") and x.slice == "all"
        else x
        for x in bundle.cards[0].scores
    )
    text = shown(card_table(changed(bundle.cards[0], scores=scores)), 200)
    assert text.count(why) == 1
    assert f"no interval for accuracy, all; macro F1, all: {why}" in text


def test_a_signature_is_broken_at_its_bars_only(bundle):
    lines = shown(card_table(bundle.cards[0]), 40).splitlines()
    start = next(k for k, line in enumerate(lines) if line.startswith("data:"))
    assert [line.rstrip() for line in lines[start:]] == [
        "data:aaaaaaaaaaaa|split:bbbbbbbbbbbb|",
        "model:Extra trees|seed:42|version:0.1.0",
    ]


def test_counts_of_groups_say_that_they_are_summed_over_rounds(bundle):
    split = bundle.audit.splits[0]
    one = changed(bundle.audit, splits=(changed(split, rounds=1),))
    assert "on both sides, summed over 2 rounds" in shown(audit_tables(bundle.audit), 120)
    assert "summed" not in shown(audit_tables(one), 120)


def test_a_label_is_neither_markup_nor_a_control_sequence(bundle):
    card = changed(bundle.cards[0], model="[bold red]x[/]\x1b[2J\u202egnp")
    text = shown(card_table(card))
    assert "[bold red]x[/][2Jgnp" in text
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_an_audit_shows_findings_the_base_rate_and_unknown_levels(bundle):
    text = shown(audit_tables(bundle.audit), 120)
    assert text.index("leak A01") < text.index("warning A02") < text.index("note A04")
    assert "3 of 40,000 (below 0.1 %) pairs of different classes" in text
    assert "not known here: sitting" in text
    assert "This data cannot tell: Which hand each signer prefers." in text
