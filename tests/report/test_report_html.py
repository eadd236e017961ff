import base64
import hashlib
import os
import re
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest
from msgspec.structs import replace as changed

from snellen.report.html import html_report


class Page(HTMLParser):
    """Elements, their attributes and the visible text of a page."""

    def __init__(self, data):
        super().__init__()
        self.elements, self.words, self.inside = [], [], None
        self.feed(data.decode("utf-8"))
        self.text = re.sub(r"\s+", " ", " ".join(self.words))

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self.inside = tag

    def handle_data(self, data):
        if self.inside != "style":
            self.words.append(data)

    def all(self, tag):
        return [attrs for name, attrs in self.elements if name == tag]


@pytest.fixture(scope="module")
def data(bundle):
    return html_report(bundle)


@pytest.fixture(scope="module")
def page(data):
    return Page(data)


def test_no_label_opens_an_element(page):
    assert page.all("script") == []
    assert page.all("img") == []
    assert "<script>alert(1)</script>" in page.text
    assert "{{ 7 * 7 }}${7*7}" in page.text


def test_no_element_carries_a_style_or_a_handler(page):
    names = {name for _, attrs in page.elements for name in attrs}
    assert not {name for name in names if name.startswith("on") or name == "style"}


def test_the_only_addresses_are_anchors_and_one_empty_icon(page):
    links = {
        v
        for _, attrs in page.elements
        for k, v in attrs.items()
        if k in ("href", "src", "xlink:href")
    }
    assert {link for link in links if not link.startswith("#")} == {"data:,"}
    assert not [k for _, attrs in page.elements for k in attrs if k.startswith("xmlns")]


def test_every_anchor_leads_somewhere_and_every_id_is_unique(page):
    ids = [attrs["id"] for _, attrs in page.elements if "id" in attrs]
    assert len(ids) == len(set(ids))
    assert {a["href"][1:] for a in page.all("a")} <= set(ids)


def test_the_policy_admits_this_style_sheet_and_nothing_else(data, page):
    policy = next(m["content"] for m in page.all("meta") if m.get("http-equiv"))
    style = re.search(rb"<style>(.*?)</style>", data, re.DOTALL).group(1)
    digest = base64.b64encode(hashlib.sha256(style).digest()).decode()
    assert policy == (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def test_the_style_sheet_loads_nothing(data):
    style = re.search(rb"<style>(.*?)</style>", data, re.DOTALL).group(1)
    assert b"url(" not in style
    assert b"@import" not in style


def test_headings_step_down_one_level_at_a_time(page):
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_every_table_has_a_caption_and_every_header_a_scope(page):
    assert len(page.all("table")) == len(page.all("caption"))
    assert all(attrs.get("scope") in ("col", "row") for attrs in page.all("th"))


def test_every_picture_has_a_role_and_a_label(data):
    drawings = re.findall(rb'(<div[^>]*>)(?:<div class="plot">)?\s*<svg', data)
    assert drawings
    labelled = [x for x in drawings if b'role="img"' in x and b"aria-label=" in x]
    inner = [x for x in drawings if x == b'<div class="plot">']
    assert len(labelled) + len(inner) == len(drawings)


def test_no_cell_of_any_table_is_blank(data):
    cells = re.findall(rb"<t[dh][^>]*>(.*?)</t[dh]>", data, re.DOTALL)
    assert len(cells) > 500
    assert not [cell for cell in cells if not re.sub(rb"<[^>]*>|\s", b"", cell)]


@pytest.mark.parametrize(
    "words",
    [
        "37.7 %",
        "[33.2, 42.2]",
        "not measurable",
        "needs a column that says so, has no such column",
        "snellen bench RUN",
        "not applicable",
        "the perturbed clips changed nothing: 0 of 1,000 arrays differ",
        "singular covariance in round 3",
        "the data brings no official split",
        "The leaky protocol picks Extra trees, the honest one MiniRocket + ridge.",
        "Which hand each signer prefers.",
        "3 of 40,000 (below 0.1 %)",
        "up to 4.4",
        "undefined",
        "On both sides, summed over 2 rounds",
        "no clips",
        "snellen verify RUN",
    ],
)
def test_the_page_says_in_words(page, words):
    assert words in page.text


def test_an_honest_headline_carries_no_banner(data):
    headline = data.split(b'id="ladder"')[0]
    assert b"This figure leaks" not in headline
    assert b">The honest figure<" in headline


def test_the_headline_says_how_many_clips_were_scored(bundle):
    page = Page(html_report(replace(bundle, ladder=changed(bundle.ladder, clips=1024))))
    assert "1,000 of 1,024 clips scored, 95 classes, 3 models under 3 protocols." in page.text


def test_a_leaking_headline_says_so_before_its_figure(bundle):
    leaky = changed(bundle.ladder, headline="random")
    headline = html_report(replace(bundle, ladder=leaky)).split(b'id="ladder"')[0]
    assert headline.index(b"This figure leaks.") < headline.index(b"80.1 %")
    assert b"1,000 of 1,000 test clips come from a session that is also in training" in headline
    assert b">The figure, with a leak<" in headline
    assert b"honest figure" not in headline


def test_without_a_ladder_no_model_is_ranked_and_leaks_stay_beside_their_figure(bundle):
    page = Page(html_report(replace(bundle, ladder=None)))
    assert "so no model is ranked" in page.text
    assert page.text.count("This figure leaks:") == 6


def test_an_empty_bundle_says_what_is_not_there(empty_bundle):
    page = Page(html_report(empty_bundle))
    assert "No model was scored. This report holds nothing." in page.text
    assert "No audit is part of this report" in page.text


def test_pictures_are_drawn_for_the_headline_protocol_only(page):
    labels = [attrs["aria-label"] for attrs in page.all("div") if attrs.get("role") == "img"]
    assert len([x for x in labels if x.startswith("Confusion matrix of")]) == 3
    assert not [x for x in labels if "random;" in x or "session out;" in x]


def test_the_best_model_of_the_headline_comes_first(data):
    names = re.findall(rb"<summary><h3><bdi>([^<]+)</bdi></h3>", data)
    assert names[:3] == [
        b"MiniRocket + ridge, signer out",
        b"Extra trees, signer out",
        b"Shrinkage LDA, signer out",
    ]


def test_the_same_bundle_gives_the_same_bytes(bundle, data):
    assert html_report(bundle) == data


def test_the_order_of_a_contract_in_memory_does_not_reach_the_bytes(bundle, data):
    turned = tuple(
        changed(card, contract=dict(reversed(card.contract.items()))) for card in bundle.cards
    )
    assert html_report(replace(bundle, cards=turned)) == data


def test_figures_of_single_slices_are_folded_and_those_without_a_value_are_not(data):
    card = data.split(b'<details class="card" open>')[1]
    first, rest = card.split(b"5 figures of single slices")
    assert b"two-handed signs" in first
    assert b"signer=S1" not in first
    assert b"signer=S5" in rest


BUILD = """
import hashlib, importlib.util
spec = importlib.util.spec_from_file_location("made", {path!r})
made = importlib.util.module_from_spec(spec)
spec.loader.exec_module(made)
from snellen.report.bundle import Bundle
from snellen.report.html import html_report
labels = (*made.HOSTILE, *made.WORDS)
cards = tuple(made.card_of(m, "signer out", labels) for m in made.MODELS)
made_of = Bundle(title="t", audit=made.make_audit(), ladder=made.make_ladder(made.MODELS), cards=cards)
print(hashlib.sha256(html_report(made_of)).hexdigest())
"""


def test_the_hash_seed_of_the_process_does_not_reach_the_bytes():
    code = BUILD.format(path=str(Path(__file__).with_name("conftest.py")))
    digests = {
        subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("0", "4711")
    }
    assert len(digests) == 1


def test_a_report_of_full_size_can_be_mailed(large_bundle):
    assert len(html_report(large_bundle)) < 3_000_000


def test_more_classes_than_a_matrix_can_show_are_listed_and_not_drawn(large_bundle, make_card):
    labels = tuple(f"w{k}" for k in range(120))
    card = make_card("Extra trees", "signer out", labels)
    page = Page(html_report(replace(large_bundle, ladder=None, cards=(card,))))
    assert "A matrix of 120 classes cannot be read, so none is drawn." in page.text
