"""INCLUDE and INCLUDE-50: lists and published keypoints."""

import csv
import pickle
from collections import Counter

import numpy as np
import pytest

from snellen.errors import BadInput
from snellen.tasks.isolated.data import read

LISTED = {
    "train": [
        ("Animals", "4. Bird", "MVI_2987.MOV"),
        ("Means of Transportation", "11. Car", "Extra/MVI_3118.MOV"),
        ("Adjectives", "84. small little", "MVI_8560_1 (2).MP4"),
    ],
    "test": [("Animals", "4. Bird", "MVI_2988.MOV")],
}
GLOSSES = {"4. Bird": "BIRD", "11. Car": "CAR", "84. small little": "LITTLE"}


def write_lists(folder, listed=LISTED, prefix="", glosses=GLOSSES):
    for official, rows in listed.items():
        with (folder / f"{prefix}{official}_include50.csv").open("w", newline="") as file:
            table = csv.writer(file)
            table.writerow(["Category", "Word", "Video", "FilePath"])
            for category, word, video in rows:
                path = f"{category.replace(' ', '_')}/{word}/{video}"
                table.writerow([category, word, video, path])
    if glosses is not None:
        lines = [f"{word},{gloss}" for word, gloss in glosses.items()]
        text = "\n".join(["actual_gloss,normalized_gloss", *lines])
        (folder / f"{prefix}normalized_glosses.csv").write_text(text)


def write_pose(folder, path, keypoints, confidences, **more):
    file = folder / "Pose_Signs" / path
    file.parent.mkdir(parents=True, exist_ok=True)
    pose = {"keypoints": keypoints, "confidences": confidences, **more}
    file.write_bytes(pickle.dumps(pose, protocol=4))


POSES = (
    "Animals/4. Bird/MVI_2987.pkl",
    "Animals/4. Bird/MVI_2988.pkl",
    "Means_of_Transportation/11. Car/Extra/MVI_3118.pkl",
    "Adjectives/84. small little/MVI_8560_1 (2).pkl",
)


def faults_of(folder, **options):
    with pytest.raises(BadInput) as caught:
        read(folder, **options)
    return caught.value.faults


@pytest.mark.parametrize("prefix", ["", "openhands_"])
def test_lists_give_glosses_numbers_streams_and_the_official_split(tmp_path, prefix):
    write_lists(tmp_path, prefix=prefix)

    recordings = read(tmp_path)
    corpus = recordings.corpus

    assert recordings.source == "include50"
    assert recordings.keypoints is None
    assert list(zip(corpus.items, corpus.labels, strict=True)) == [
        ("Adjectives/84. small little/MVI_8560_1 (2).MP4", "LITTLE"),
        ("Animals/4. Bird/MVI_2987.MOV", "BIRD"),
        ("Animals/4. Bird/MVI_2988.MOV", "BIRD"),
        ("Means_of_Transportation/11. Car/Extra/MVI_3118.MOV", "CAR"),
    ]
    assert corpus.column("number") == [8560, 2987, 2988, 3118]
    assert corpus.column("stream") == ["MP4", "MOV", "MOV", "MOV"]
    assert corpus.column("official") == ["train", "train", "test", "train"]
    assert corpus.column("category")[3] == "Means of Transportation"
    assert corpus.column("signer") == [None] * 4
    assert any("no signer is recorded" in sentence for sentence in recordings.silent)


def test_the_folders_of_the_published_archive_are_known(tmp_path):
    (tmp_path / "Train_Test_Split").mkdir()
    write_lists(tmp_path / "Train_Test_Split")

    by_folder = read(tmp_path)
    by_file = read(tmp_path / "Train_Test_Split" / "train_include50.csv")

    assert len(by_folder.corpus) == 4
    assert by_file.corpus.digest == by_folder.corpus.digest


def test_without_glosses_the_word_folder_is_the_label_and_that_is_said(tmp_path):
    write_lists(tmp_path, glosses=None)

    recordings = read(tmp_path)

    assert recordings.corpus.vocabulary == ("BIRD", "CAR", "SMALL_LITTLE")
    assert any("labels are the names of the word folders" in line for line in recordings.silent)


def test_the_authors_lists_have_a_validation_part_and_no_streams(tmp_path):
    for official in ("train", "val", "test"):
        (tmp_path / f"include50_{official}.txt").write_text(
            f"Animals/4. Bird/MVI_{len(official)}.MOV\n\n"
        )

    recordings = read(tmp_path)

    assert recordings.source == "include50-lists"
    assert recordings.corpus.name == "include50"
    assert recordings.corpus.column("number") == [3, 4, 5]
    assert recordings.corpus.column("official") == ["val", "test", "train"]
    assert recordings.corpus.column("stream") == [None] * 3
    assert any("two cameras" in sentence for sentence in recordings.silent)


def test_every_bad_row_of_both_lists_is_named(tmp_path):
    listed = {
        "train": [
            ("Animals", "4. Bird", "MVI_1.MOV"),
            ("Animals", "4. Bird", "MVI_1.MOV"),
            ("Animals", "5. Cow", "MVI_2.MOV"),
            ("Animals", "..", "MVI_3.MOV"),
        ],
        "test": [("Animals", "4. Bird", "clip.MOV")],
    }
    write_lists(tmp_path, listed)

    found = [(fault.where, fault.row, fault.seen) for fault in faults_of(tmp_path)]

    assert found == [
        ("train_include50.csv", 2, "'Animals/4. Bird/MVI_1.MOV' again"),
        ("train_include50.csv", 3, "word '5. Cow'"),
        ("train_include50.csv", 4, "'Animals/../MVI_3.MOV'"),
        ("test_include50.csv", 1, "'clip.MOV'"),
    ]


def test_half_a_pair_of_lists_is_a_fault(tmp_path):
    write_lists(tmp_path)
    (tmp_path / "test_include50.csv").unlink()

    assert faults_of(tmp_path)[0].seen == "no test_include50.csv"


def test_poses_become_shares_of_the_picture_and_confidence_0_is_missing(tmp_path):
    write_lists(tmp_path)
    for k, path in enumerate(POSES):
        # A point in the middle of a 1920 x 1080 picture, as the published files write it.
        keypoints = np.tile([0.5 * 1080, 0.5 * 1920, -0.25], (k + 1, 75, 1))
        confidences = np.ones((k + 1, 75))
        confidences[0, 33:54] = 0
        keypoints[0, 33:54] = 0
        write_pose(tmp_path, path, keypoints, confidences, vid_shape=(1080, 1920))

    recordings = read(tmp_path)

    assert recordings.keypoints.layout.name == "holistic-75"
    assert recordings.corpus.column("n_frames") == [4, 1, 2, 3]
    values, present = recordings.keypoints.clip(2)
    assert values[1, 40].tolist() == [0.5, 0.5, -0.25]
    assert np.flatnonzero(~present[0]).tolist() == list(range(33, 54))
    assert values[0, 33:54].tolist() == [[0, 0, 0]] * 21
    assert present[1].all()
    assert recordings.left_out == ()
    assert not any("no keypoints" in sentence for sentence in recordings.silent)


def test_a_listed_clip_without_a_pose_file_is_left_out_aloud(tmp_path):
    write_lists(tmp_path)
    for path in POSES[1:]:
        write_pose(tmp_path, path, np.ones((2, 75, 3)), np.ones((2, 75)))

    recordings = read(tmp_path)

    assert recordings.left_out == ("Animals/4. Bird/MVI_2987.MOV",)
    assert len(recordings.corpus) == 3
    assert "1 listed clips have no pose file: left out" in recordings.silent


def test_an_empty_pose_folder_is_a_fault_rather_than_an_empty_corpus(tmp_path):
    write_lists(tmp_path)
    (tmp_path / "Pose_Signs").mkdir()

    assert faults_of(tmp_path)[0].seen == "0 clips"


def test_faults_of_all_pose_files_come_together(tmp_path):
    write_lists(tmp_path)
    good, sure = np.ones((2, 75, 3)), np.ones((2, 75))
    write_pose(tmp_path, POSES[0], np.ones((2, 74, 3)), sure)
    write_pose(tmp_path, POSES[1], good, np.ones((3, 75)))
    write_pose(tmp_path, POSES[2], good * 700, sure)
    write_pose(tmp_path, POSES[3], good, sure, vid_shape=(0, 1920))

    seen = {fault.where: fault.seen for fault in faults_of(tmp_path)}

    assert seen == {
        f"Pose_Signs/{POSES[0]}": "shape (2, 74, 3)",
        f"Pose_Signs/{POSES[1]}": "confidences of shape (3, 75)",
        f"Pose_Signs/{POSES[2]}": "x and y in pixels, no vid_shape",
        f"Pose_Signs/{POSES[3]}": "vid_shape (0.0, 1920.0)",
    }


def test_a_link_out_of_the_pose_folder_is_refused(tmp_path):
    write_lists(tmp_path)
    for path in POSES:
        write_pose(tmp_path, path, np.ones((2, 75, 3)), np.ones((2, 75)))
    inside = tmp_path / "Pose_Signs" / POSES[0]
    inside.rename(tmp_path / "outside.pkl")
    inside.symlink_to(tmp_path / "outside.pkl")

    (fault,) = faults_of(tmp_path)
    assert "leads out of the folder" in fault.seen


@pytest.mark.shared
def test_the_real_lists_are_include50_unless_more_is_asked_for(shared_data):
    small = read(shared_data / "include_meta")
    large = read(shared_data / "include_meta", format="include")

    assert (small.source, len(small.corpus), len(small.corpus.vocabulary)) == ("include50", 958, 50)
    assert Counter(small.corpus.column("official")) == {"train": 766, "test": 192}
    # 263 words: '38. Dress' and '46. Clothing' have one gloss.
    assert (len(large.corpus), len(large.corpus.vocabulary)) == (4292, 262)
    assert len(set(small.corpus.column("category"))) == 15
    assert len(set(large.corpus.column("category"))) == 15


@pytest.mark.shared
def test_include50_has_924_numbers_two_streams_and_no_test_clip_of_dry(shared_data):
    corpus = read(shared_data / "include_meta").corpus

    streams = Counter(corpus.column("stream"))
    assert streams == {"MOV": 872, "MP4": 86}
    assert len(set(zip(corpus.column("stream"), corpus.column("number"), strict=True))) == 924
    tested = Counter(
        label
        for label, official in zip(corpus.labels, corpus.column("official"), strict=True)
        if official == "test"
    )
    assert set(corpus.vocabulary) - set(tested) == {"DRY"}


@pytest.mark.shared
def test_include50_agrees_with_the_protocols_derived_by_others_clip_by_clip(shared_data):
    corpus = read(shared_data / "include_meta").corpus
    with (shared_data / "include_meta" / "include50_derived_protocols.csv").open() as file:
        derived = {
            row["FilePath"]: (row["label"], row["cat"], int(row["sid"]), row["official"])
            for row in csv.DictReader(file)
        }

    ours = zip(
        corpus.items,
        corpus.labels,
        corpus.column("category"),
        corpus.column("number"),
        corpus.column("official"),
        strict=True,
    )
    assert {item: tuple(facts) for item, *facts in ours} == derived


@pytest.mark.shared
def test_the_authors_lists_hold_the_same_clips_with_a_validation_part(shared_data):
    theirs = read(shared_data / "include_meta", format="include50-lists").corpus
    ours = read(shared_data / "include_meta").corpus

    assert Counter(theirs.column("official")) == {"train": 689, "val": 77, "test": 192}

    def stems(corpus):
        return Counter(item.rsplit(".", 1)[0] for item in corpus.items)

    assert stems(theirs) == stems(ours)
