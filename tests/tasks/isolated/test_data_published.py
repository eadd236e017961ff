"""ISL-Kinect-30, Auslan and MSL-150: small files made here, and the real ones where they are."""

from collections import Counter

import numpy as np
import pytest

from snellen.errors import BadInput
from snellen.tasks.isolated.data import read

JOINTS = [
    "Head", "Neck", "ShoulderLeft", "ShoulderRight", "ElbowLeft", "ElbowRight", "WristLeft",
    "WristRight", "HandLeft", "HandRight", "SpineMid", "SpineBase", "HipLeft", "HipRight",
    "KneeLeft", "KneeRight", "AnkleLeft", "AnkleRight", "FootLeft", "FootRight",
]  # fmt: skip


def kinect_arrays(**change):
    """Two clips, 'yes' by S01 of two frames and 'no' by S02 of three."""
    frames = np.arange(5 * 20 * 3, dtype=np.int16).reshape(5, 20, 3)
    arrays = {
        "frames": frames,
        "scale": np.float64(0.0001),
        "length": np.array([2, 3], np.int32),
        "sign": np.array([1, 0], np.int16),
        "signer": np.array([0, 1], np.int8),
        "rep": np.array([1, 9], np.int8),
        "sign_names": np.array(["no", "yes"]),
        "signer_names": np.array(["S01", "S02"]),
        "joint_names": np.array(JOINTS),
    }
    return arrays | change


def auslan_arrays(**change):
    arrays = {
        "xyz_128": np.array([[64, -128, 127], [0, 0, 0], [1, 2, 3]], np.int8),
        "roll_12": np.array([6, 0, -12], np.int8),
        "finger_4": np.array([[0, 1, 2, 3]] * 3, np.int8),
        "length": np.array([1, 2], np.int32),
        "sign": np.array([0, 1], np.int16),
        "signer": np.array([0, 0], np.int8),
        "session": np.array([1, 2], np.int8),
        "take": np.array([0, 5], np.int8),
        "sign_names": np.array(["alive", "cal-full-up"]),
        "signer_names": np.array(["signer1"]),
        "finger_names": np.array(["thumb", "fore", "index", "ring"]),
    }
    return arrays | change


def msl_arrays(**change):
    """Two clips of three frames; the second one's last two frames are padding."""
    x = np.full((2, 3, 226), 0.5, np.float16)
    x[0, 1, 100:163] = 0  # the left hand is missed in the middle frame
    x[1, 1:] = 0
    arrays = {"x": x, "sign": np.array(["yo", "hoy"]), "clip": np.array([3, 12])}
    return arrays | change


def faults_of(path):
    with pytest.raises(BadInput) as caught:
        read(path)
    return [f"{fault}" for fault in caught.value.faults]


def test_the_kinect_file_becomes_named_clips_in_metres(tmp_path):
    np.savez_compressed(tmp_path / "isl_kinect30.npz", **kinect_arrays())

    recordings = read(tmp_path)

    assert recordings.source == "isl-kinect-30"
    assert recordings.corpus.items == ("no_S02_9", "yes_S01_1")
    assert list(recordings.corpus.labels) == ["no", "yes"]
    assert recordings.corpus.column("signer") == ["S02", "S01"]
    assert recordings.corpus.column("n_frames") == [3, 2]
    assert recordings.corpus.column("number") == [None, None]
    # 'yes' owns the first two frames: their last joint is 117, 118, 119 steps of 0.1 mm.
    values, present = recordings.keypoints.clip(1)
    assert values[1, 19] == pytest.approx([0.0117, 0.0118, 0.0119])
    assert present.all()


def test_the_small_kinect_file_has_12_joints_and_says_it_was_resampled(tmp_path):
    frames = np.ones((2, 32, 12, 3), np.int16)
    np.savez(
        tmp_path / "isl_kinect30_small.npz",
        **kinect_arrays(frames=frames, joint_names=np.array(JOINTS[:12])),
    )

    recordings = read(tmp_path)

    assert recordings.keypoints.layout.name == "kinect-12"
    assert recordings.corpus.column("n_frames") == [32, 32]
    assert any("resampled to 32 frames" in sentence for sentence in recordings.silent)


def test_the_full_kinect_file_is_preferred_to_the_small_one(tmp_path):
    np.savez(tmp_path / "isl_kinect30.npz", **kinect_arrays())
    np.savez(tmp_path / "isl_kinect30_small.npz", x=np.zeros(1))

    assert read(tmp_path).source == "isl-kinect-30"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"length": np.array([2, 2], np.int32)}, "4 frames, the sum of length"),
        ({"length": np.array([5, 0], np.int32)}, "a clip of no or too many frames"),
        ({"length": np.array([2, 3, 1], np.int32)}, "sign: 2 clips; allowed: 3"),
        ({"sign": np.array([1, 2], np.int16)}, "an index without a name; allowed: 0 to 1"),
        ({"sign": np.array([1, -1], np.int16)}, "an index without a name"),
        ({"sign": np.array([1.0, 0.0])}, "one integer a clip"),
        ({"sign_names": np.array(["no", "no"])}, "a name twice"),
        ({"sign_names": np.array(["", "yes"])}, "a printable name"),
        ({"joint_names": np.array(JOINTS[::-1])}, "FootRight, FootLeft"),
        ({"frames": np.zeros((5, 19, 3), np.int16)}, "integers of shape (..., 20, 3)"),
        ({"frames": np.zeros((5, 20, 3))}, "integers of shape (..., 20, 3)"),
        ({"scale": np.float64(0)}, "metres a step"),
        ({"scale": np.float64("nan")}, "metres a step"),
        (
            {"sign": np.array([0, 0]), "signer": np.array([0, 0]), "rep": np.array([1, 1])},
            "two clips",
        ),
    ],
)
def test_a_kinect_file_that_does_not_fit_itself_is_refused(tmp_path, change, words):
    np.savez(tmp_path / "isl_kinect30.npz", **kinect_arrays(**change))

    assert words in " ".join(faults_of(tmp_path))


def test_a_kinect_file_cut_at_any_offset_is_a_bad_input(tmp_path):
    path = tmp_path / "isl_kinect30.npz"
    np.savez_compressed(path, **kinect_arrays())
    whole = path.read_bytes()

    for length in range(0, len(whole), 11):
        path.write_bytes(whole[:length])
        assert faults_of(tmp_path)


def write_skeletons(folder, name, frames, first=0.0):
    lines = [
        " ".join(f"{first + 100 * frame + k:.7f}" for k in range(60)) for frame in range(frames)
    ]
    (folder / name).write_text("\n".join(lines) + "\n")


def test_the_published_text_files_are_read_and_their_spellings_merged(tmp_path):
    write_skeletons(tmp_path, "born__asha_1.txt", 2)
    write_skeletons(tmp_path, "born_bala_1.txt", 1)
    write_skeletons(tmp_path, "no__asha_2.txt", 3)

    recordings = read(tmp_path)

    assert recordings.source == "isl-kinect-30-text"
    assert recordings.corpus.items == ("born_asha_1", "born_bala_1", "no_asha_2")
    assert list(recordings.corpus.labels) == ["born", "born", "no"]
    assert recordings.corpus.column("signer") == ["asha", "bala", "asha"]
    assert recordings.corpus.column("n_frames") == [2, 1, 3]
    assert recordings.keypoints.clip(0)[0][1, 19].tolist() == [157, 158, 159]


def test_text_and_packed_files_of_the_same_numbers_have_the_same_keypoints(tmp_path):
    frames = np.arange(5 * 20 * 3).reshape(5, 20, 3)
    (tmp_path / "packed").mkdir()
    np.savez(tmp_path / "packed" / "isl_kinect30.npz", **kinect_arrays())
    for name, part in (("yes_S01_1", frames[:2]), ("no_S02_9", frames[2:])):
        np.savetxt(tmp_path / f"{name}.txt", part.reshape(-1, 60) * 1e-4, fmt="%.7f")

    text, packed = read(tmp_path).keypoints, read(tmp_path / "packed").keypoints

    assert text.items == packed.items
    assert text.offsets.tolist() == packed.offsets.tolist()
    assert np.allclose(text.values, packed.values, atol=1e-7)


def test_every_bad_line_of_every_text_file_is_named(tmp_path):
    write_skeletons(tmp_path, "yes_asha_1.txt", 1)
    (tmp_path / "yes_asha_2.txt").write_text("1 2 3\n" + "x " * 60 + "\n")
    (tmp_path / "yes_asha_3.txt").write_text("")
    write_skeletons(tmp_path, "born__asha_1.txt", 1)
    write_skeletons(tmp_path, "born_asha_1.txt", 1)
    write_skeletons(tmp_path, "yes_asha_x.txt", 1)

    faults = faults_of(tmp_path)

    assert faults == [
        "born_asha_1.txt: a second born_asha_1; allowed: <sign>_<signer>_<repetition>.txt, once",
        "yes_asha_2.txt, row 1: 3 numbers; allowed: 60",
        "yes_asha_2.txt, row 2: a word that is no number; allowed: 60 numbers",
        "yes_asha_3.txt: 0 frames; allowed: 1 to 200,000",
        "yes_asha_x.txt: this name; allowed: <sign>_<signer>_<repetition>.txt, once",
    ]


def test_an_infinite_joint_is_a_fault_and_nan_is_a_missing_one(tmp_path):
    words = ["0.5"] * 60
    words[4] = "nan"
    (tmp_path / "yes_asha_1.txt").write_text(" ".join(words))
    assert np.argwhere(~read(tmp_path).keypoints.present).tolist() == [[0, 1]]

    words[4] = "inf"
    (tmp_path / "yes_asha_1.txt").write_text(" ".join(words))
    assert "an infinite value (frame 0, point 1" in faults_of(tmp_path)[0]


def test_auslan_has_sessions_that_carry_their_signer_and_gestures_outside_the_vocabulary(tmp_path):
    np.savez(tmp_path / "auslan_uci.npz", **auslan_arrays())

    recordings = read(tmp_path)

    assert recordings.corpus.items == ("alive_signer1_1_0", "cal-full-up_signer1_2_5")
    assert list(recordings.corpus.labels) == ["alive", None]
    assert recordings.corpus.vocabulary == ("alive",)
    assert recordings.corpus.column("note") == [None, "cal-full-up"]
    assert recordings.corpus.column("session") == ["signer1/1", "signer1/2"]
    first = recordings.keypoints.clip(0)[0]
    assert first.shape == (1, 8, 1)
    assert first[0, :, 0].tolist() == [0.5, -1, 127 / 128, 0.5, 0, 0.25, 0.5, 0.75]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"roll_12": np.zeros(2, np.int8)}, "roll_12: int8 of shape (2,)"),
        ({"finger_4": np.zeros((3, 5), np.int8)}, "finger_4: int8 of shape (3, 5)"),
        ({"finger_names": np.array(["fore", "thumb", "index", "ring"])}, "finger_names"),
        ({"length": np.array([1, 1], np.int32)}, "2 frames, the sum of length"),
        ({"signer": np.array([0, 1], np.int8)}, "signer: an index without a name"),
    ],
)
def test_an_auslan_file_that_does_not_fit_itself_is_refused(tmp_path, change, words):
    np.savez(tmp_path / "auslan_uci.npz", **auslan_arrays(**change))

    assert words in " ".join(faults_of(tmp_path))


def test_msl_masks_a_missed_hand_and_cuts_the_padding(tmp_path):
    np.savez(tmp_path / "msl150_demo.npz", **msl_arrays())

    recordings = read(tmp_path)

    assert recordings.corpus.items == ("hoy_12", "yo_3")
    assert recordings.corpus.column("n_frames") == [1, 3]
    assert set(recordings.corpus.column("signer")) == {"msl-signer"}
    present = recordings.keypoints.clip(1)[1]
    assert present[1].tolist() == [True] * 25 + [False] * 21 + [True] * 21
    assert present[[0, 2]].all()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"x": np.zeros((2, 3, 225), np.float16)}, "floats of shape (clips, frames, 226)"),
        ({"x": np.zeros((2, 3, 226), np.float16)}, "nothing but zeros"),
        ({"sign": np.array(["yo"])}, "sign: shape (1,)"),
        ({"sign": np.array([1, 2])}, "sign: int64 of shape (2,)"),
        ({"clip": np.array([1.0, 2.0])}, "clip: an array of float64"),
        ({"sign": np.array(["yo", "yo"]), "clip": np.array([1, 1])}, "two clips"),
    ],
)
def test_an_msl_file_that_does_not_fit_itself_is_refused(tmp_path, change, words):
    np.savez(tmp_path / "msl150_demo.npz", **msl_arrays(**change))

    assert words in " ".join(faults_of(tmp_path))


@pytest.mark.shared
def test_the_real_kinect_set_is_30_signs_by_10_signers_9_times(shared_data):
    recordings = read(shared_data / "isl_kinect30")
    corpus = recordings.corpus

    assert (len(corpus), len(corpus.vocabulary)) == (2700, 30)
    pairs = Counter(zip(corpus.labels, corpus.column("signer"), strict=True))
    assert set(pairs.values()) == {9}
    assert recordings.keypoints.values.shape == (201_054, 20, 3)
    assert (recordings.keypoints.lengths.min(), recordings.keypoints.lengths.max()) == (18, 189)
    assert "afternoon_S01_1" in corpus.items


@pytest.mark.shared
def test_the_real_auslan_set_has_18_sessions_and_108_clips_outside_the_vocabulary(shared_data):
    corpus = read(shared_data / "auslan_uci").corpus

    assert (len(corpus), len(corpus.vocabulary), corpus.labels.count(None)) == (6756, 95, 108)
    assert len(set(corpus.column("session"))) == 18
    assert len(set(corpus.column("signer"))) == 5
    known = [
        x for x, note in zip(corpus.labels, corpus.column("note"), strict=True) if note is None
    ]
    assert len(known) == 6648
    assert None not in known


@pytest.mark.shared
def test_the_real_msl_set_has_body_left_right_in_this_order(shared_data):
    recordings = read(shared_data / "msl150_demo")
    values, present = recordings.keypoints.values, recordings.keypoints.present
    at = {name: k for k, name in enumerate(recordings.keypoints.layout.points)}

    def distance(hand, body):
        both = present[:, at[hand]] & present[:, at[body]]
        between = values[both, at[hand], :2] - values[both, at[body], :2]
        return float(np.median(np.linalg.norm(between, axis=1)))

    assert Counter(recordings.corpus.labels) == {
        "ambulancia": 11, "doctor": 15, "dolor": 20, "hoy": 20, "yo": 20,
    }  # fmt: skip
    # Each hand lies within a fifth of a shoulder width (0.176) of its own wrist, not of the other.
    assert distance("left_hand_wrist", "left_wrist") < 0.035
    assert distance("right_hand_wrist", "right_wrist") < 0.035
    assert distance("left_hand_wrist", "right_wrist") > 0.1
    assert distance("right_hand_wrist", "left_wrist") > 0.1
    # 86 x 30 frames, of which 139 are padding; a hand is missed whole or not at all.
    assert len(values) == 86 * 30 - 139
    for block in recordings.keypoints.layout.blocks:
        found = present[:, block.start : block.stop].sum(axis=1)
        assert set(found.tolist()) <= {0, block.stop - block.start}
