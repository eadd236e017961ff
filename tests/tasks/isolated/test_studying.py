"""What a run lets a study ask: its own models and answers, nothing that only looks like them."""

import shutil

import numpy as np
import pytest

from snellen.errors import BadInput, Mismatch, Missing
from snellen.tasks.isolated.data import read
from snellen.tasks.isolated.run import RunSettings, run
from snellen.tasks.isolated.synthetic import Settings, make_corpus, write_folder
from snellen.tasks.isolated.verbs import Source, contents, judged, open_study

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


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    root = tmp_path_factory.mktemp("studying")
    planted = make_corpus(SMALL, np.random.default_rng(5))
    write_folder(planted.corpus, planted.keypoints, root / "data")
    run(read(root / "data"), root / "run", CHOSEN, lambda *_: None)
    return root


def test_models_asked_again_give_the_answers_that_the_run_scored(made):
    study = open_study(made / "run", Source(made / "data"), None, ("lda",))
    (subject,) = study.subjects

    right = clips = 0
    values, mask = study.prepare(study.keypoints)
    for number in subject.rounds:
        trained = subject.load(number)
        logs = trained.answer(values[trained.tested], mask[trained.tested])
        right += int((logs.argmax(axis=1) == study.labels[trained.tested]).sum())
        clips += len(trained.tested)

    card = next(x for x in contents(made / "run")[2] if (x.protocol, x.model) == ("signer", "lda"))
    assert study.protocol == "signer"
    assert right / clips == pytest.approx(card.score("accuracy").value)


def test_models_of_another_split_are_not_asked(made, tmp_path):
    root = tmp_path / "run"
    shutil.copytree(made / "run", root)
    shutil.rmtree(root / "models" / "signer" / "lda")
    shutil.copytree(root / "models" / "random" / "lda", root / "models" / "signer" / "lda")

    with pytest.raises(Mismatch, match="holds other models than the run scored") as caught:
        open_study(root, Source(made / "data"), "signer", ("lda",))

    assert "split" in caught.value.fields


def test_a_run_without_its_models_says_so(made, tmp_path):
    root = tmp_path / "run"
    shutil.copytree(made / "run", root)
    shutil.rmtree(root / "models")

    with pytest.raises(Missing, match="kept no lda of signer"):
        open_study(root, Source(made / "data"), "signer", ("lda",))


def test_other_recordings_than_the_runs_are_refused(made, tmp_path):
    planted = make_corpus(SMALL, np.random.default_rng(6))
    write_folder(planted.corpus, planted.keypoints, tmp_path)

    with pytest.raises(Mismatch, match="not the recordings of"):
        open_study(made / "run", Source(tmp_path), None, None)


@pytest.mark.parametrize("asked", [("nobody", None), ("signer", ("nobody",))])
def test_a_protocol_or_model_the_run_does_not_hold_is_named(made, asked):
    with pytest.raises(BadInput, match="nobody"):
        judged(made / "run", *asked)


def test_validation_answers_are_to_clips_that_their_round_did_not_test(made):
    found = judged(made / "run", "signer", ("lda",))

    roles = {one.role: one for one in found}
    tested = dict(zip(roles["test"].items, roles["test"].rounds.tolist(), strict=True))
    held = zip(roles["validation"].items, roles["validation"].rounds.tolist(), strict=True)
    assert all(tested[item] != number for item, number in held)


def test_a_trained_round_that_is_gone_is_trained_again_while_a_run_is_unfinished(made, tmp_path):
    root = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        run(read(made / "data"), root, CHOSEN, stop_at("cards"))
    gone = root / "models" / "signer" / "lda" / "42" / "round-00.npz"
    before = gone.read_bytes()
    gone.unlink()

    run(read(made / "data"), root, CHOSEN, lambda *_: None)

    assert gone.read_bytes() == before


def stop_at(stage):
    def progress(name, done, total):
        if name == stage:
            raise KeyboardInterrupt

    return progress
