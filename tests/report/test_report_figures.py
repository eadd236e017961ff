import re

from snellen.core.card import Confusion
from snellen.report import figures, matrix


def texts(svg):
    return re.findall(r"<text[^>]*>([^<]*)</text>", svg)


def specs(bundle):
    card = bundle.lead_cards[1]
    return {
        "ladder": figures.ladder_spec(bundle.ladder),
        "recall": figures.recall_spec(card.classes),
        "reliability": figures.reliability_spec(card.reliability),
        "coverage": figures.coverage_spec(card.coverage),
    }


def test_every_figure_is_the_same_twice_though_the_renderer_numbers_its_ids(bundle):
    for key, spec in specs(bundle).items():
        assert figures.svg(spec, key) == figures.svg(spec, key)


def test_figures_hold_no_address_no_role_and_no_style(bundle):
    for key, spec in specs(bundle).items():
        drawn = figures.svg(spec, key)
        # A label may read as an address; no attribute is one.
        assert "://" not in re.sub(r">[^<]*<", "><", drawn)
        assert 'role="' not in drawn
        assert "style=" not in drawn


def test_ids_of_two_figures_never_meet():
    gradient = {
        "data": {"values": [{"x": 1}, {"x": 2}]},
        "mark": {"type": "point", "clip": True},
        "encoding": {"color": {"field": "x", "type": "quantitative"}},
    }
    first = set(re.findall(r'id="([^"]+)"', figures.svg(gradient, "one")))
    second = set(re.findall(r'id="([^"]+)"', figures.svg(gradient, "two")))
    assert first == {"one-gradient-0", "one-clip-0"}
    assert not first & second


def test_labels_are_escaped_in_the_drawing(bundle):
    drawn = figures.svg(specs(bundle)["recall"], "recall")
    assert "<script" not in drawn
    assert "<img" not in drawn
    assert "&lt;script&gt;alert(1)&lt;/…" in drawn


def test_a_class_without_test_clips_says_so_where_its_dot_would_be(bundle):
    words = texts(figures.svg(specs(bundle)["recall"], "recall"))
    assert words.count("not measurable") == 1
    assert "0/0" in words


def test_the_line_of_a_model_breaks_where_it_has_no_figure(bundle):
    rows = figures.ladder_spec(bundle.ladder)["layer"][0]["data"]["values"]
    assert [row["value"] for row in rows if row["model"] == "Shrinkage LDA"] == [0.526, None, 0.271]


def test_dots_of_one_protocol_stand_apart_and_in_the_order_of_the_models(bundle):
    rows = figures.ladder_spec(bundle.ladder)["layer"][0]["data"]["values"]
    assert [row["x"] for row in rows if round(row["x"]) == 2] == [1.95, 2.0, 2.05]


def test_empty_bins_have_no_dot(bundle):
    values = specs(bundle)["reliability"]["data"]["values"]
    assert len(values) == 9
    assert min(row["n"] for row in values) == 37


def test_nothing_is_drawn_for_a_threshold_at_which_nothing_is_answered(bundle):
    values = specs(bundle)["coverage"]["data"]["values"]
    silent = [row["series"] for row in values if row["coverage"] == 0]
    assert set(silent) == {"right among all asked"}


CONFUSION = Confusion(labels=("yes", "no<b>"), counts=((3, 1, 0), (0, 2, 2)), order=(1, 0), top=())


def test_a_matrix_writes_its_counts_in_the_given_order():
    words = texts(matrix.confusion_svg(CONFUSION))
    assert words[:5] == ["no&lt;b&gt;", "yes", "no&lt;b&gt;", "yes", "no answer"]
    assert words[5:9] == ["2", "2", "1", "3"]


def test_a_matrix_colours_a_cell_by_its_share_of_the_row():
    drawn = matrix.confusion_svg(CONFUSION)
    squares = dict(re.findall(r'<path fill="(#\w+)" d="([^"]+)"', drawn))
    # 1 of 4 is level 2, 2 of 4 (twice) level 4, 3 of 4 level 6.
    assert {k: d.count("M") for k, d in squares.items()} == {
        matrix.LEVELS[2]: 1,
        matrix.LEVELS[4]: 2,
        matrix.LEVELS[6]: 1,
    }


def test_a_matrix_of_a_hundred_classes_stays_small():
    n = 100
    counts = tuple(tuple(1 for _ in range(n + 1)) for _ in range(n))
    labels = tuple(f"sign number {k}" for k in range(n))
    drawn = matrix.confusion_svg(
        Confusion(labels=labels, counts=counts, order=tuple(range(n)), top=())
    )
    assert len(drawn) < 300_000


def test_every_drawn_colour_of_a_category_has_a_dark_partner():
    assert set(figures.COLOURS) <= set(figures.DARK)
    assert set(matrix.LEVELS) <= set(matrix.DARK_LEVELS)


def luminance(colour):
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a, b):
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


def test_lines_and_dots_stand_out_three_to_one_and_text_four_and_a_half():
    for light, dark in figures.DARK.items():
        if light == figures.GRID:
            continue
        least = 4.5 if light in (figures.INK, figures.MUTED) else 3
        assert contrast(light, "#fcfcfa") >= least - 0.05, light
        assert contrast(dark, "#15181b") >= least, dark


def test_counts_inside_a_matrix_can_be_read_in_both_schemes():
    for step, colour in enumerate(matrix.LEVELS):
        ink = matrix.ON_DARK if step >= matrix.FIRST_DARK_LEVEL else matrix.ON_LIGHT
        assert contrast(ink, colour) >= 3.9, (step, "light")
        assert contrast(matrix.DARK_LEVELS[ink], matrix.DARK_LEVELS[colour]) >= 3.9, (step, "dark")
