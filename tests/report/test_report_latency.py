"""The latency section: what is written is what was measured."""

from msgspec.structs import replace

from snellen.core.latency import LatencyStudy, ModelLatency, Ratio, Throughput, Timing
from snellen.report import figures
from snellen.report.section_files import figure_png, table_csv
from snellen.report.studies.latency import section


def timing(p50):
    return Timing(p50=p50, p95=2 * p50, p99=3 * p50, min=p50 / 2, calls=300)


def model(name, p50, ratio, parameters=None, memory=None):
    return ModelLatency(
        model=name,
        parameters=parameters,
        call=timing(p50),
        against_first=Ratio(value=ratio, low=ratio - 0.1, high=ratio + 0.1),
        throughput=(
            Throughput(batch=1, clips_per_second=1000 / p50),
            Throughput(batch=128, clips_per_second=4000 / p50),
        ),
        file_bytes=1_250_000,
        load_ms=4.56,
        memory_mib=memory,
    )


STUDY = LatencyStudy(
    corpus="toy",
    protocol="signer",
    preprocessing="reference",
    frames=30,
    clips=128,
    cores=2,
    turns=20,
    read_ms=0.5,
    prepare=timing(0.1),
    models=(model("gru", 0.4, 1, 188_338, 3.0), model("rocket", 12.4, 31, None, 40.0)),
)


def test_a_table_says_what_one_clip_costs_each_model():
    calls = section(STUDY).tables[0]

    assert calls.name == "latency"
    assert calls.rows[0] == (
        *("gru", "0.400", "0.800", "1.20", "0.200"),
        *("1.00 (0.900 to 1.10)", "188,338", "1.25", "4.56", "3.0"),
    )
    assert calls.rows[1][:2] == ("rocket", "12.4")
    assert calls.rows[1][6] == "not counted"


def test_csv_rows_hold_the_unrounded_figures_and_no_blank():
    lines = table_csv(section(STUDY).tables[0]).decode().splitlines()

    assert lines[0].startswith("model,p50_ms,p95_ms,p99_ms,min_ms,calls,times_first,")
    assert lines[1].split(",")[:6] == ["gru", "0.4", "0.8", str(3 * 0.4), "0.2", "300"]
    assert lines[2].split(",")[9] == "not counted"
    assert not any(",," in line or line.endswith(",") for line in lines)


def test_stages_add_up():
    stages = section(STUDY).tables[1]

    assert stages.rows[0] == ("gru", "0.500", "0.100", "0.400", "1.00")
    assert stages.rows[1][-1] == "13.0"


def test_throughput_is_in_clips_a_second_by_batch():
    rates = section(STUDY).tables[2]

    assert rates.head == ("model", "1 at once", "128 at once")
    assert rates.rows[0] == ("gru", "2,500", "10,000")


def test_sentences_are_made_of_the_figures():
    calls, fastest, stages = section(STUDY).sentences

    assert "300 single clips of 30 frames" in calls
    assert "2 cores" in calls
    assert "0.400 ms with gru, the fastest, and 12.4 ms with rocket, the slowest" in fastest
    # 12.4 of 0.5 + 0.1 + 12.4
    assert "95.4 % of the time of a clip" in stages


def test_one_model_is_not_called_the_fastest():
    alone = section(replace(STUDY, models=STUDY.models[:1]))

    assert not any("fastest" in sentence for sentence in alone.sentences)


def test_memory_that_is_unknown_is_said_to_be():
    models = (STUDY.models[0], model("lda", 0.1, 0.25))

    found = section(replace(STUDY, models=models))

    assert section(STUDY).not_measured == ()
    assert found.not_measured == ("Memory of lda: this system does not say what a process holds.",)
    assert found.tables[0].rows[1][-1] == "not measured"


def test_the_figure_is_drawn_and_holds_every_model():
    (figure,) = section(STUDY).figures

    assert figure.name == "latency_comparison"
    drawn = figures.svg(figures.framed(figure.spec), "latency")
    assert "gru" in drawn
    assert "rocket" in drawn
    assert figure_png(figure).startswith(b"\x89PNG")
