import csv
import io
import struct

import msgspec
import pytest
from msgspec.structs import replace

from snellen.core.card import Score
from snellen.core.cells import Measured, NotApplicable, NotMeasured
from snellen.core.comparison import Comparison, Pair
from snellen.core.evaluation import Evaluation
from snellen.core.latency import LatencyStudy, ModelLatency, Ratio, Timing
from snellen.errors import BadInput
from snellen.report.evaluation import evaluations
from snellen.report.evaluation_files import evaluation_files
from snellen.report.evaluation_section import (
    evaluation_section,
    pairs_table,
    per_class_table,
    summary_table,
)
from snellen.report.section import Figure, Section

EXTRA = ("macro_precision", "balanced_accuracy", "weighted_f1")
TREES, ROCKET, LDA = "Extra trees", "MiniRocket + ridge", "Shrinkage LDA"


def scored(card):
    """A card with every measure an evaluation shows."""
    held = {score.measure for score in card.scores}
    cell = Measured(value=0.5, low=0.4, high=0.6, n=1000, groups=5, method="by hand")
    more = [
        Score(measure=x, slice="all", better="higher", cell=cell) for x in EXTRA if x not in held
    ]
    return replace(card, scores=(*card.scores, *more))


@pytest.fixture
def cards(bundle):
    return tuple(map(scored, bundle.cards))


def pair(protocol, a, b, difference):
    return Pair(
        protocol=protocol,
        a=a,
        b=b,
        clips=1000,
        only_a=90,
        only_b=46,
        accuracy_a=0.801,
        accuracy_b=0.757,
        difference=difference,
        p=0.004,
        p_holm=0.012,
        smallest_p=0.001,
        test="sign-flip over 5 signers; Holm over 3 pairs",
        smallest_gap=NotApplicable(reason="counted by hand"),
        classes=(),
    )


@pytest.fixture
def comparison():
    gap = Measured(value=0.044, low=0.013, high=0.075, n=1000, groups=5, method="by hand")
    pairs = tuple(
        pair(protocol, a, b, gap)
        for protocol in ("random", "session out", "signer out")
        for a, b in ((TREES, ROCKET), (TREES, LDA), (ROCKET, LDA))
    )
    return Comparison(task="isolated", a="run", b="run", contract="c" * 64, allowed={}, pairs=pairs)


@pytest.fixture
def timed():
    call = Timing(p50=0.33, p95=0.4, p99=0.5, min=0.3, calls=200)

    def model(name, parameters):
        return ModelLatency(
            model=name,
            parameters=parameters,
            call=call,
            against_first=Ratio(value=1.0, low=1.0, high=1.0),
            throughput=(),
            file_bytes=1000,
            load_ms=2.0,
            memory_mib=None,
        )

    return LatencyStudy(
        corpus="auslan",
        protocol="signer out",
        preprocessing="snellen-1",
        frames=64,
        clips=1000,
        cores=2,
        turns=5,
        read_ms=0.1,
        prepare=call,
        models=(model(TREES, None), model(ROCKET, 245_426), model(LDA, 1_000)),
    )


@pytest.fixture
def found(bundle, cards, comparison):
    return evaluations(bundle.ladder, cards, comparison, None)


def rows_of(table):
    from snellen.report.section_files import table_csv

    return list(csv.DictReader(io.StringIO(table_csv(table).decode())))


def test_there_is_one_evaluation_a_protocol_and_the_headline_is_first(found):
    assert [(x.protocol, x.headline) for x in found] == [
        ("signer out", True),
        ("random", False),
        ("session out", False),
    ]
    assert [row.model for row in found[0].models] == [TREES, ROCKET, LDA, "chance", "majority"]


def test_chance_is_one_in_as_many_classes_and_has_no_interval(found):
    chance = found[0].models[3]

    assert chance.accuracy.value == 1 / 95
    assert chance.accuracy.low is None
    assert isinstance(chance.macro_f1, NotApplicable)


def test_a_run_without_a_majority_model_says_how_to_get_one(found):
    majority = found[0].models[4]

    assert isinstance(majority.accuracy, NotMeasured)
    assert majority.accuracy.command.startswith("snellen run --models majority,")


def test_a_run_with_a_majority_model_shows_it_once(bundle, cards, comparison):
    renamed = {TREES: "majority"}
    ladder = replace(
        bundle.ladder,
        models=tuple(renamed.get(x, x) for x in bundle.ladder.models),
    )
    cards = tuple(replace(x, model=renamed.get(x.model, x.model)) for x in cards)
    names = [row.model for row in evaluations(ladder, cards, comparison, None)[0].models]

    assert names == ["majority", ROCKET, LDA, "chance"]


def test_each_evaluation_holds_the_pairs_and_gaps_of_its_protocol(found):
    assert [len(x.pairs) for x in found] == [3, 3, 3]
    assert {pair.protocol for pair in found[1].pairs} == {"random"}
    assert [len(x.gaps) for x in found] == [3, 3, 0]


def test_latency_and_parameters_are_those_of_the_study_or_say_what_measures_them(
    bundle, cards, comparison, timed, found
):
    with_study = evaluations(bundle.ladder, cards, comparison, timed)[0].models

    assert with_study[1].parameters == 245_426
    assert with_study[1].latency_ms.value == 0.33
    assert isinstance(with_study[0].parameters, NotApplicable)
    assert found[0].models[1].parameters.command == "snellen latency RUN DATA"
    assert found[0].models[1].latency_ms.command == "snellen latency RUN DATA"


def test_the_summary_has_a_row_a_model_and_protocol_and_no_empty_field(found):
    rows = rows_of(summary_table(found))

    assert len(rows) == 15
    assert all(value for row in rows for value in row.values())
    assert rows[1] | {"model": ROCKET, "accuracy": "0.377", "latency_ms": "not measured"} == rows[1]
    assert rows[3]["macro_f1"] == "not applicable"


def test_the_per_class_table_defuses_labels_and_has_every_model(found):
    rows = rows_of(per_class_table(found))

    labels = {row["class"] for row in rows}
    assert "'=cmd|' /C calc'!A0" in labels
    assert len(rows) == 3 * 3 * len(labels)
    assert all(value for row in rows for value in row.values())


def test_the_best_model_chooses_which_classes_are_shown_as_hardest(found):
    table = per_class_table(found)
    recalls = [float(row[2].split()[0]) for row in table.rows if row[2][0].isdigit()]

    assert table.head[2] == ROCKET
    assert len(table.rows) == 10
    assert recalls == sorted(recalls)


def test_paired_tests_carry_holm_and_what_they_could_have_rejected(found):
    first = rows_of(pairs_table(found))[0]

    assert (first["p"], first["p_holm"], first["smallest_p"]) == ("0.004", "0.012", "0.001")
    assert first["test"] == "sign-flip over 5 signers; Holm over 3 pairs"


def test_what_was_not_measured_is_said_once_with_all_its_models(found):
    said = evaluation_section(found).not_measured

    assert len([x for x in said if "snellen latency RUN DATA" in x]) == 1
    assert "Extra trees, MiniRocket + ridge, Shrinkage LDA" in said[0]


def plain_names(bundle):
    """The bundle with models and protocols that may be file names."""
    names = {TREES: "trees", ROCKET: "rocket", LDA: "lda", "session out": "session"}
    names |= {"signer out": "signer"}
    ladder = msgspec.convert(
        renamed(msgspec.to_builtins(bundle.ladder), names), type(bundle.ladder)
    )
    cards = tuple(
        replace(x, model=names[x.model], protocol=names.get(x.protocol, x.protocol))
        for x in map(scored, bundle.cards)
    )
    return ladder, cards


def renamed(value, names):
    if isinstance(value, dict):
        return {key: renamed(x, names) for key, x in value.items()}
    if isinstance(value, list | tuple):
        return [renamed(x, names) for x in value]
    return names.get(value, value) if isinstance(value, str) else value


def files_of(bundle, pictures):
    ladder, cards = plain_names(bundle)
    nothing = Comparison(task="isolated", a="r", b="r", contract="c", allowed={}, pairs=())
    found = evaluations(ladder, cards, nothing, None)
    return evaluation_files(found, cards, evaluation_section(found), pictures)


def test_files_have_the_names_of_the_reference_evaluation(bundle):
    assert sorted(files_of(bundle, None)) == sorted(
        [
            "summary_metrics.csv",
            "per_class_comparison.csv",
            "protocol_gaps.csv",
            "paired_tests.csv",
            "model_comparison.png",
            *(f"evaluation_summary_{x}.json" for x in ("random", "session", "signer")),
            *(f"confusion_{x}.png" for x in ("trees", "rocket", "lda")),
            *(
                f"{p}/confusion_{x}.png"
                for p in ("random", "session")
                for x in ("trees", "rocket", "lda")
            ),
        ]
    )


def test_the_picture_of_latencies_is_there_only_where_they_were_measured(bundle):
    spec = {"height": 50, "data": {"values": [{"ms": 1}]}, "mark": "point", "encoding": {}}
    pictures = Section(
        key="latency",
        title="Latency",
        sentences=(),
        figures=(Figure("latency_comparison", "c", "a", spec), Figure("other", "c", "a", spec)),
    )
    files = files_of(bundle, pictures)

    assert "latency_comparison.png" in files
    assert "other.png" not in files


def test_every_picture_is_one_of_a_size_that_can_be_read(bundle):
    pictures = {name: data for name, data in files_of(bundle, None).items() if name.endswith("png")}

    for name, data in pictures.items():
        assert data[:8] == b"\x89PNG\r\n\x1a\n", name
        width, height = struct.unpack(">II", data[16:24])
        assert 300 < width < 4000, name
        assert 200 < height < 4000, name


def test_a_summary_read_back_is_the_evaluation_it_was_made_of(bundle):
    files = files_of(bundle, None)
    back = msgspec.json.decode(files["evaluation_summary_signer.json"], type=Evaluation)

    assert back.protocol == "signer"
    assert back.models[1].accuracy.value == 0.377


def test_a_model_that_cannot_be_a_file_name_is_refused(found, cards):
    with pytest.raises(BadInput):
        evaluation_files(found, cards, evaluation_section(found), None)
