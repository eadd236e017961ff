"""Studies beside a run: stored, read again, shown; and the evaluation of a run."""

import csv
import io
import json
import shutil
import struct
from importlib import import_module

import msgspec
import numpy as np
import pytest
from typer.testing import CliRunner

from snellen.cli.app import app
from snellen.cli.studies import STUDIES, read_study, show_and_store, stored_sections, stored_study
from snellen.core.latency import LatencyStudy, ModelLatency, Ratio, Throughput, Timing
from snellen.core.seeds import SeedRow, Seeds
from snellen.errors import BadInput, SnellenError
from snellen.report.studies.latency import section
from snellen.report.studies.seeds import section as seeds_section
from snellen.tasks.isolated.synthetic import Settings, make_corpus, write_folder

SMALL = Settings(
    signers=4,
    sessions=1,
    signs=4,
    takes=3,
    similar_pairs=1,
    test_signers=1,
    leaky_clusters=2,
    near_duplicates=1,
    near_leaks=1,
    exact_duplicates=1,
    exact_leaks=1,
)


def quick(*words):
    """Run a verb in this process; errors on purpose become code 2."""
    result = CliRunner().invoke(app, [str(word) for word in words])
    if isinstance(result.exception, SnellenError):
        return 2, result.output, str(result.exception)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, ""


def timed(protocol, *models):
    call = Timing(p50=0.25, p95=0.4, p99=0.5, min=0.2, calls=200)
    return LatencyStudy(
        corpus="made up",
        protocol=protocol,
        preprocessing="snellen-1",
        frames=64,
        clips=48,
        cores=2,
        turns=5,
        read_ms=0.1,
        prepare=call,
        models=tuple(
            ModelLatency(
                model=model,
                parameters=245_426,
                call=call,
                against_first=Ratio(value=1.0, low=0.9, high=1.1),
                throughput=tuple(
                    Throughput(batch=batch, clips_per_second=4000.0) for batch in (1, 8, 32, 128)
                ),
                file_bytes=1_000_000,
                load_ms=2.0,
                memory_mib=4.0,
            )
            for model in models
        ),
    )


def rows_of(path):
    return list(csv.DictReader(io.StringIO(path.read_text())))


def stored(run, protocol="signer", *, json=False):
    result = timed(protocol, "lda", "trees")
    show_and_store(run, protocol, "latency", result, section(result), json=json)
    return run / "studies" / protocol


def test_a_study_is_stored_with_a_file_for_each_table_and_figure(tmp_path, capsys):
    folder = stored(tmp_path)
    shown = section(timed("signer", "lda", "trees"))

    names = {path.name for path in folder.iterdir()}
    assert names == {
        "latency.json",
        *(f"{table.name}.csv" for table in shown.tables),
        *(f"{figure.name}.png" for figure in shown.figures),
    }
    assert "Latency, signer" in capsys.readouterr().out


def test_a_study_read_back_is_the_one_that_was_stored(tmp_path):
    result, shown = read_study(stored(tmp_path) / "latency.json", "latency")

    assert result == timed("signer", "lda", "trees")
    assert shown.key == "latency"


def test_json_is_the_stored_file_and_nothing_else(tmp_path, capfdbinary):
    folder = stored(tmp_path, json=True)

    assert capfdbinary.readouterr().out == (folder / "latency.json").read_bytes()


def test_studies_of_all_protocols_are_found_and_strangers_left_alone(tmp_path):
    stored(tmp_path, "signer")
    stored(tmp_path, "random")
    (tmp_path / "studies" / "random" / "notes.json").write_text("not ours")
    (tmp_path / "studies" / "readme.txt").write_text("not a folder")

    assert [x.heading for x in stored_sections(tmp_path)] == ["Latency, random", "Latency, signer"]


def test_a_run_without_studies_has_none(tmp_path):
    assert stored_sections(tmp_path) == ()
    assert stored_study(tmp_path, "latency", "signer") is None


def test_every_damaged_study_is_named_at_once(tmp_path):
    for protocol in ("random", "signer"):
        folder = stored(tmp_path, protocol)
        (folder / "latency.json").write_text('{"format": 7}')

    with pytest.raises(BadInput) as error:
        stored_sections(tmp_path)

    assert len(error.value.faults) == 2
    assert "random/latency.json" in str(error.value)
    assert "signer/latency.json" in str(error.value)


def test_a_protocol_that_is_a_path_is_refused_before_anything_is_written(tmp_path):
    with pytest.raises(BadInput):
        stored(tmp_path, "../signer")
    assert list(tmp_path.iterdir()) == []


def test_the_headlines_study_is_preferred_and_any_other_is_better_than_none(tmp_path):
    stored(tmp_path, "random")
    assert stored_study(tmp_path, "latency", "signer")[0].protocol == "random"

    stored(tmp_path, "signer")
    assert stored_study(tmp_path, "latency", "signer")[0].protocol == "signer"


@pytest.mark.parametrize("name", STUDIES)
def test_every_study_of_the_table_can_be_decoded_and_shown(name, tmp_path):
    (tmp_path / "empty.json").write_text("{}")
    module, _, function = STUDIES[name][1].partition(":")

    assert callable(getattr(import_module(module), function))
    with pytest.raises(BadInput, match=f"a {name} study"):
        read_study(tmp_path / "empty.json", name)


def test_seeds_are_shown_seed_by_seed_with_the_widest_range():
    cell = {"state": "measured", "value": 0.875, "low": 0.8, "high": 0.9, "n": 40, "method": "m"}
    row = {"model": "landolt", "protocol": "signer", "mean": cell}
    rows = [row | {"accuracies": [0.85, 0.9], "low_seed": 0.85, "high_seed": 0.9}]
    shown = seeds_section(msgspec.convert({"seeds": [1, 2], "rows": rows}, Seeds))

    assert shown.tables[0].rows == (("signer", "landolt", "87.5 [80.0, 90.0]", "85.0", "90.0"),)
    assert "at most 5.0 points (landolt under signer)" in shown.sentences[1]
    assert len(shown.tables[0].csv_rows) == 2
    assert msgspec.convert(rows[0], SeedRow).accuracies == (0.85, 0.9)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A finished run of two models under two protocols, with a latency study."""
    root = tmp_path_factory.mktemp("evaluate")
    planted = make_corpus(SMALL, np.random.default_rng(5))
    write_folder(planted.corpus, planted.keypoints, root / "data")
    words = ("--models", "majority,lda", "--protocols", "random,signer", "--workers", "1")
    code, _, error = quick("run", "isolated", root / "data", "-o", root / "run", *words)
    assert code == 0, error
    return root / "run"


@pytest.mark.train
def test_evaluate_writes_the_files_of_the_reference_evaluation(run, tmp_path):
    code, out, error = quick("evaluate", run, "-o", tmp_path / "out")

    assert code == 0, error
    names = {path.relative_to(tmp_path / "out").as_posix() for path in tmp_path.rglob("*.*")}
    assert {
        "summary_metrics.csv",
        "per_class_comparison.csv",
        "model_comparison.png",
        "confusion_lda.png",
        "confusion_majority.png",
        "evaluation_summary_random.json",
        "evaluation_summary_signer.json",
        "random/confusion_lda.png",
    } <= names
    assert "latency_comparison.png" not in names
    assert "no latency_comparison.png: not measured" in out
    width, height = struct.unpack(
        ">II", (tmp_path / "out" / "confusion_lda.png").read_bytes()[16:24]
    )
    assert 100 < min(width, height) < 4000


@pytest.mark.train
def test_the_summary_agrees_with_the_cards_of_the_run(run, tmp_path):
    quick("evaluate", run, "-o", tmp_path)
    card = json.loads((run / "cards" / "signer" / "lda.json").read_text())
    accuracy = next(
        x["cell"]["value"]
        for x in card["scores"]
        if (x["measure"], x["slice"]) == ("accuracy", "all")
    )
    rows = rows_of(tmp_path / "summary_metrics.csv")
    row = next(x for x in rows if (x["protocol"], x["model"]) == ("signer", "lda"))

    assert float(row["accuracy"]) == pytest.approx(accuracy, abs=1e-12)
    assert row["latency_ms"] == "not measured"
    assert [x["model"] for x in rows] == ["majority", "lda", "chance"] * 2
    assert float(rows[2]["accuracy"]) == 1 / 4


@pytest.mark.train
def test_evaluate_as_json_is_one_evaluation_a_protocol(run, tmp_path):
    code, out, _ = quick("evaluate", run, "-o", tmp_path, "--json")

    assert code == 0
    assert [x["protocol"] for x in json.loads(out)] == ["signer", "random"]


@pytest.mark.train
def test_a_report_shows_the_studies_of_its_run_and_evaluate_their_latency(run, tmp_path):
    run = shutil.copytree(run, tmp_path / "run")
    stored(run)
    code, _, error = quick("report", run, "-o", tmp_path / "report")
    assert code == 0, error
    assert "Latency, signer" in (tmp_path / "report" / "report.html").read_text()
    assert "### Latency, signer" in (tmp_path / "report" / "report.md").read_text()
    assert (tmp_path / "report" / "tables" / "latency-signer-latency.csv").exists()

    code, _, error = quick("evaluate", run, "-o", tmp_path / "out")
    assert code == 0, error
    assert (tmp_path / "out" / "latency_comparison.png").read_bytes()[:4] == b"\x89PNG"
    rows = rows_of(tmp_path / "out" / "summary_metrics.csv")
    assert {x["latency_ms"] for x in rows if x["model"] == "lda"} == {"0.25"}
    assert {x["params"] for x in rows if x["model"] == "lda"} == {"245426"}


def test_a_folder_that_is_no_run_cannot_be_evaluated(tmp_path):
    code, _, error = quick("evaluate", tmp_path)

    assert code == 2
    assert "no run" in error
