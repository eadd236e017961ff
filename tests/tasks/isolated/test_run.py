import hashlib
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
import pytest

from snellen.core.answers import SPANS
from snellen.errors import BadInput, Mismatch, Missing, SnellenError
from snellen.store.folder import RunFolder
from snellen.store.tables import table_bytes
from snellen.tasks.isolated import pieces
from snellen.tasks.isolated.compare import compare_runs, side_of
from snellen.tasks.isolated.data import read
from snellen.tasks.isolated.run import RunSettings, run
from snellen.tasks.isolated.synthetic import Settings, make_corpus, write_folder
from snellen.tasks.isolated.verify import verify_run

pytestmark = pytest.mark.train

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
CHOSEN = RunSettings(models=("majority", "lda"), protocols=("random", "signer"))


def silent(stage, done, total):
    pass


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    planted = make_corpus(SMALL, np.random.default_rng(5))
    write_folder(planted.corpus, planted.keypoints, folder)
    return folder


@pytest.fixture(scope="module")
def finished(data, tmp_path_factory):
    root = tmp_path_factory.mktemp("runs") / "one"
    run(read(data), root, CHOSEN, silent)
    return root


def index(root):
    return (root / "run.json").read_bytes()


def change(root, name, edit):
    """Forge a piece of a run and its entry in the index, as somebody with an editor would."""
    piece = json.loads((root / name).read_bytes())
    edit(piece)
    data = json.dumps(piece).encode()
    (root / name).write_bytes(data)
    plain = json.loads((root / "run.json").read_bytes())
    plain["pieces"][name] = hashlib.sha256(data).hexdigest()
    (root / "run.json").write_text(json.dumps(plain))


def copied(root, to):
    import shutil

    shutil.copytree(root, to)
    return to


def test_a_run_holds_corpus_splits_audit_answers_cards_and_ladder(finished):
    names = RunFolder.read(finished).names()

    assert set(names) == {
        "settings.json",
        "audit.json",
        "duplicates.json",
        "ladder.json",
        "corpus/about.json",
        "corpus/clips.parquet",
        "corpus/truth.parquet",
        *(f"splits/{p}.json" for p in ("random", "signer")),
        *(f"answers/{p}/{m}.parquet" for p in ("random", "signer") for m in ("lda", "majority")),
        *(f"validation/{p}/{m}.parquet" for p in ("random", "signer") for m in ("lda", "majority")),
        *(f"cards/{p}/{m}.json" for p in ("random", "signer") for m in ("lda", "majority")),
    }


def test_every_clip_is_answered_once_under_every_protocol(finished):
    folder = RunFolder.read(finished)
    corpus = pieces.get_corpus(folder)

    for protocol, model in pieces.cards_in(folder):
        card = pieces.get_card(folder, protocol, model)
        assert (card.intake.expected, card.intake.answered) == (len(corpus), len(corpus))


@pytest.mark.slow
def test_two_workers_write_the_same_bytes_as_one(data, finished, tmp_path):
    from dataclasses import replace

    run(read(data), tmp_path / "two", replace(CHOSEN, workers=2), silent)

    assert index(tmp_path / "two") == index(finished)


def test_running_again_computes_nothing_and_changes_nothing(data, finished):
    before = index(finished)
    stages = []

    run(read(data), finished, CHOSEN, lambda stage, done, total: stages.append((stage, done)))

    assert index(finished) == before
    assert "rounds" not in {stage for stage, _ in stages}


def relabelled(data, folder):
    """The same recordings, every label moved on to the next one."""
    import shutil

    shutil.copytree(data, folder)
    lines = (folder / "clips.csv").read_text().splitlines()
    head = lines[0].split(",")
    at = head.index("label")
    rows = [line.split(",") for line in lines[1:]]
    words = sorted({row[at] for row in rows})
    for row in rows:
        row[at] = words[(words.index(row[at]) + 1) % len(words)]
    (folder / "clips.csv").write_text("\n".join([lines[0], *(",".join(x) for x in rows)]) + "\n")
    return folder


def test_the_folder_of_another_run_is_refused_and_each_difference_named(data, finished, tmp_path):
    from dataclasses import replace

    other = read(relabelled(data, tmp_path / "data"))
    before = index(finished)

    with pytest.raises(Mismatch) as caught:
        run(other, finished, replace(CHOSEN, models=("majority",)), silent)

    assert set(caught.value.fields) == {"data", "models"}
    assert index(finished) == before


def test_rounds_trained_on_other_labels_are_never_taken_over(data, tmp_path):
    import shutil

    chosen = RunSettings(models=("lda",), protocols=("signer",))
    run(read(data), tmp_path / "old", chosen, silent)
    other = read(relabelled(data, tmp_path / "data"))
    run(other, tmp_path / "fresh", chosen, silent)

    # The new labels meet the finished rounds of the old ones.
    shutil.copytree(tmp_path / "old" / "objects", tmp_path / "mixed" / "objects")
    (tmp_path / "mixed" / "run.json").write_text(
        json.dumps({"format": "snellen-run/1", "pieces": {}, "sealed": False})
    )
    run(other, tmp_path / "mixed", chosen, silent)

    assert index(tmp_path / "mixed") == index(tmp_path / "fresh")


def test_a_card_that_is_gone_or_stray_is_named(finished, tmp_path):
    root = copied(finished, tmp_path / "copy")
    plain = json.loads((root / "run.json").read_bytes())
    del plain["pieces"]["cards/signer/lda.json"]
    (root / "run.json").write_text(json.dumps(plain))

    with pytest.raises(Mismatch, match=r"cards/signer/lda\.json is gone"):
        verify_run(root)


def test_a_card_that_keeps_quiet_about_what_is_not_measured_does_not_verify(finished, tmp_path):
    root = copied(finished, tmp_path / "copy")
    change(root, "cards/random/lda.json", lambda card: card.update(silent=[]))

    with pytest.raises(Mismatch, match="silent"):
        verify_run(root)


def test_another_seed_is_another_contract(data, finished, tmp_path):
    from dataclasses import replace

    run(read(data), tmp_path / "seed", replace(CHOSEN, seed=7), silent)

    with pytest.raises(Mismatch) as caught:
        compare_runs(side_of(str(finished)), side_of(str(tmp_path / "seed")))
    assert {"seed", "split", "test_set"} <= set(caught.value.fields)


def test_a_run_verifies_until_an_answer_is_changed(finished, tmp_path):
    root = copied(finished, tmp_path / "copy")
    assert verify_run(root).cards == 4

    folder = RunFolder.read(root)
    answers = pieces.get_answers(folder, "signer", "lda").to_pydict()
    answers["label"][0], answers["label"][1] = answers["label"][1], answers["label"][0]
    data = table_bytes(pa.table(answers, schema=SPANS))
    name = "answers/signer/lda.parquet"
    (root / name).write_bytes(data)
    plain = json.loads((root / "run.json").read_bytes())
    plain["pieces"][name] = hashlib.sha256(data).hexdigest()
    (root / "run.json").write_text(json.dumps(plain))

    with pytest.raises(Mismatch, match=r"cards/signer/lda\.json does not come out as stored"):
        verify_run(root)


def test_a_card_flattered_by_hand_does_not_verify(finished, tmp_path):
    root = copied(finished, tmp_path / "copy")

    def flatter(card):
        card["scores"][0]["cell"]["value"] = 0.999

    change(root, "cards/random/lda.json", flatter)

    with pytest.raises(Mismatch) as caught:
        verify_run(root)
    assert caught.value.fields["scores/0/cell/value"][0] == "0.999"


def test_a_leak_struck_from_a_card_does_not_verify(finished, tmp_path):
    root = copied(finished, tmp_path / "copy")
    assert json.loads((root / "cards/random/lda.json").read_bytes())["leaks"]
    change(root, "cards/random/lda.json", lambda card: card.update(leaks=[]))

    with pytest.raises(Mismatch, match=r"cards/random/lda\.json"):
        verify_run(root)


def test_leaks_struck_from_the_audit_do_not_verify_either(finished, tmp_path):
    root = copied(finished, tmp_path / "copy")
    change(root, "audit.json", lambda audit: audit["splits"][0].update(leaks=[]))

    with pytest.raises(Mismatch, match=r"audit\.json"):
        verify_run(root)


def test_every_damaged_piece_is_named(finished, tmp_path):
    root = copied(finished, tmp_path / "copy")
    path = root / "answers" / "signer" / "lda.parquet"
    path.write_bytes(path.read_bytes()[:-1])
    (root / "cards" / "random" / "lda.json").unlink()

    with pytest.raises(Mismatch, match="not as it was written") as caught:
        verify_run(root)
    assert "answers/signer/lda.parquet: not the bytes that were written" in str(caught.value)
    assert "cards/random/lda.json: gone" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "edit"),
    [
        ("corpus/about.json", lambda about: about.pop("vocabulary")),
        ("corpus/about.json", lambda about: about.update(vocabulary=["only"])),
        ("splits/random.json", lambda split: split["rounds"][0].update(test=["nobody"])),
        ("duplicates.json", lambda found: found.pop("near")),
        ("ladder.json", lambda ladder: ladder.update(rungs=3)),
    ],
)
def test_a_piece_rewritten_into_no_piece_at_all_is_a_finding(finished, name, edit, tmp_path):
    root = copied(finished, tmp_path / "copy")
    change(root, name, edit)

    with pytest.raises(Mismatch, match="what no run writes"):
        verify_run(root)


@pytest.mark.parametrize(
    ("edit", "field"),
    [
        (lambda settings: settings.update(seed=43), "seed"),
        (lambda settings: settings.update(seeds=[43]), "seeds"),
        (lambda settings: settings.update(models=["majority"]), "models"),
        (lambda settings: settings.update(protocols=["signer"]), "protocols"),
    ],
)
def test_settings_that_are_not_those_of_the_run_do_not_verify(finished, edit, field, tmp_path):
    root = copied(finished, tmp_path / "copy")
    change(root, "settings.json", edit)

    with pytest.raises(Mismatch, match=r"settings\.json") as caught:
        verify_run(root)
    assert set(caught.value.fields) == {field}


def test_a_run_that_is_not_finished_is_not_called_wrong(finished, tmp_path):
    root = copied(finished, tmp_path / "copy")
    plain = json.loads((root / "run.json").read_bytes())
    (root / "run.json").write_text(json.dumps({**plain, "sealed": False}))

    with pytest.raises(Missing, match="not finished"):
        verify_run(root)


def test_models_of_one_run_are_compared_pairwise(finished):
    found = compare_runs(side_of(str(finished)), side_of(str(finished)))

    assert [(pair.protocol, pair.a, pair.b) for pair in found.pairs] == [
        ("random", "majority", "lda"),
        ("signer", "majority", "lda"),
    ]
    assert all(pair.p <= pair.p_holm for pair in found.pairs)


def test_a_model_compared_with_itself_never_differs(finished, tmp_path):
    other = copied(finished, tmp_path / "copy")

    found = compare_runs(side_of(f"{finished}:lda"), side_of(f"{other}:lda"))

    assert [(pair.only_a, pair.only_b, pair.p) for pair in found.pairs] == [(0, 0, 1.0)] * 2


def test_metadata_alone_cannot_be_run(tmp_path):
    (tmp_path / "clips.csv").write_text("clip_id,label\na,x\nb,y\n")

    with pytest.raises(BadInput, match="metadata only"):
        run(read(tmp_path), tmp_path / "run", CHOSEN, silent)


def test_a_protocol_the_corpus_does_not_admit_is_refused_with_the_reason(data, tmp_path):
    settings = RunSettings(models=("majority",), protocols=("sitting",))

    with pytest.raises(BadInput, match=r"'sitting': .*allowed: one of: random"):
        run(read(data), tmp_path / "run", settings, silent)


def test_the_folder_of_another_corpus_is_not_overwritten_half(data, finished, tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("mine")

    with pytest.raises(SnellenError, match="choose an empty folder"):
        run(read(data), tmp_path / "full", CHOSEN, silent)
    assert (tmp_path / "full" / "thesis.tex").read_text() == "mine"


@pytest.mark.slow
def test_a_killed_run_goes_on_and_ends_with_the_same_bytes(data, finished, tmp_path):
    root = tmp_path / "killed"
    code = (
        "from pathlib import Path\n"
        "from snellen.tasks.isolated.data import read\n"
        "from snellen.tasks.isolated.run import RunSettings, run\n"
        f"run(read({str(data)!r}), Path({str(root)!r}), RunSettings(models=('majority', 'lda'), "
        "protocols=('random', 'signer')), lambda *x: None)\n"
    )
    child = subprocess.Popen([sys.executable, "-c", code])
    objects = root / "objects"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and child.poll() is None:
        if objects.exists() and sum(1 for x in objects.rglob("*") if x.is_file()) >= 3:
            break
        time.sleep(0.005)
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    kept = sum(1 for x in objects.rglob("*") if x.is_file())
    assert kept >= 3

    run(read(data), root, CHOSEN, silent)

    assert index(root) == index(finished)
