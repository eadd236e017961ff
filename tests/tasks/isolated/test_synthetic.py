"""The corpus whose truth is known: is what it claims to hold really in it?"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snellen.core.audit import audit_split, near_pairs_of
from snellen.core.duplicates import exact_duplicates
from snellen.core.protocols import make_split
from snellen.digest import digest_array, digest_json
from snellen.signal.motion import motion_signature
from snellen.tasks.isolated import data
from snellen.tasks.isolated.synthetic import ARMS, Crossing, Settings, make_corpus, write_folder
from snellen.tasks.isolated.synthetic.body import pose_points
from snellen.tasks.isolated.synthetic.plan import crossings, make_plan

SMALL = Settings(
    signers=4,
    sessions=2,
    signs=4,
    takes=3,
    similar_pairs=1,
    test_signers=1,
    leaky_clusters=3,
    near_duplicates=3,
    near_leaks=1,
    exact_duplicates=2,
    exact_leaks=1,
)


@pytest.fixture(scope="module")
def demo():
    return make_corpus(Settings(), np.random.default_rng(0))


def counted(groups, official):
    """Crossing by brute force; ``groups`` maps a group's name to its clips."""
    torn = [clips for clips in groups.values() if {"train", "test"} <= {official[c] for c in clips}]
    touched = sum(official[clip] == "test" for clips in torn for clip in clips)
    return Crossing(len(groups), len(torn), touched)


def grouped(keys):
    groups = {}
    for clip, key in enumerate(keys):
        groups.setdefault(key, []).append(clip)
    return groups


def counted_from_columns(planted):
    """All of ``crossings`` again, from the corpus's columns and the pairs alone."""
    corpus = planted.corpus
    official, labels = corpus.column("official"), corpus.labels
    at = {item: k for k, item in enumerate(corpus.items)}
    session = corpus.column("session")

    def pairs(found):
        return {pair: [at[item] for item in pair] for pair in found}

    return {
        "exact duplicate": counted(pairs(planted.exact_pairs), official),
        "near duplicate": counted(pairs(planted.near_pairs + planted.exact_pairs), official),
        "cluster": counted(grouped(zip(labels, session, strict=True)), official),
        "session": counted(grouped(session), official),
        "signer": counted(grouped(corpus.column("signer")), official),
    }


def test_the_demo_has_eight_signers_two_sessions_twelve_signs_and_three_takes(demo):
    assert len(demo.corpus) == 8 * 2 * 12 * 3 == 576
    assert len(demo.corpus.vocabulary) == 12
    assert len(set(demo.corpus.column("signer"))) == 8
    assert len(set(demo.corpus.column("session"))) == 16


def test_the_truth_of_the_demo_is_as_counted_by_hand(demo):
    # Two test signers, ten leaky runs of three takes, all in their first sessions.
    assert demo.crossings == {
        "exact duplicate": Crossing(3, 2, 2),
        "near duplicate": Crossing(8 + 3, 5 + 2, 5 + 2),
        "cluster": Crossing(8 * 2 * 12, 10, 10 * 2),
        "session": Crossing(8 * 2, 2, 2 * 12 * 3 - 10),
        "signer": Crossing(8, 2, 2 * 2 * 12 * 3 - 10),
    }


def test_the_truth_is_what_a_count_over_the_columns_finds(demo):
    assert counted_from_columns(demo) == demo.crossings


@given(st.data())
@settings(max_examples=40, deadline=None)
def test_the_truth_holds_for_any_settings_that_are_accepted(drawn):
    def draw(low, high):
        return drawn.draw(st.integers(low, high))

    test_signers, training = draw(1, 2), draw(1, 3)
    signs = draw(1, 4)
    leaky = draw(0, signs * test_signers)
    near_leaks = draw(0, leaky)
    exact_leaks = draw(0, leaky - near_leaks)
    quiet = draw(0, training * signs)
    chosen = Settings(
        signers=training + 1 + test_signers,
        sessions=draw(1, 2),
        signs=signs,
        takes=draw(2, 3),
        similar_pairs=draw(0, signs // 2),
        test_signers=test_signers,
        leaky_clusters=leaky,
        near_duplicates=near_leaks + quiet,
        near_leaks=near_leaks,
        exact_duplicates=exact_leaks,
        exact_leaks=exact_leaks,
    )

    planted = make_corpus(chosen, np.random.default_rng(0))

    assert counted_from_columns(planted) == planted.crossings == crossings(chosen)


@pytest.mark.parametrize(
    ("change", "needed"),
    [
        ({"leaky_clusters": 25}, "leaky_clusters <= signs * test_signers"),
        ({"near_leaks": 9}, "near_leaks <= near_duplicates"),
        ({"takes": 1}, "takes >= 2"),
        ({"test_signers": 7}, "one validation and one training signer"),
        ({"similar_pairs": 7}, "2 * similar_pairs <= signs"),
        ({"near_duplicates": 66}, "room for the other duplicates"),
    ],
)
def test_settings_that_cannot_hold_what_is_to_be_planted_are_refused_by_name(change, needed):
    with pytest.raises(ValueError, match="cannot be planted") as refused:
        Settings(**change)

    assert needed in str(refused.value)


def test_words_of_a_long_list_are_all_different():
    words = make_plan(Settings(signers=4, sessions=1, signs=4225, takes=2)).words

    assert len(set(words)) == 4225


def test_recording_numbers_count_up_and_skip_fifty_between_sessions():
    plan = make_plan(SMALL)

    steps = np.diff(plan.number)

    session_ends = np.arange(1, 8) * 4 * 3 - 1
    assert (steps[session_ends] == 51).all()
    assert (np.delete(steps, session_ends) == 1).all()


def test_exact_copies_are_equal_frame_by_frame_and_near_copies_are_a_frame_shorter(demo):
    at = {item: k for k, item in enumerate(demo.keypoints.items)}
    for original, copy in demo.exact_pairs:
        for of, to in zip(
            demo.keypoints.clip(at[original]), demo.keypoints.clip(at[copy]), strict=True
        ):
            np.testing.assert_array_equal(of, to)
    for original, copy in demo.near_pairs:
        lengths = demo.keypoints.lengths[[at[original], at[copy]]]
        assert lengths[0] == lengths[1] + 1


@pytest.mark.parametrize("seed", range(3))
def test_an_audit_finds_exactly_what_was_planted(seed):
    planted = make_corpus(Settings(), np.random.default_rng(seed))
    corpus, keypoints = planted.corpus, planted.keypoints
    contents = [digest_json([digest_array(x) for x in keypoints.clip(k)]) for k in range(576)]
    exact = exact_duplicates(contents)
    near = near_pairs_of(corpus, motion_signature(keypoints))

    audit = audit_split(
        corpus, make_split(corpus, "official", seed=0), exact=exact, near=near, gap=10
    )

    copies = {tuple(sorted(pair)) for pair in planted.exact_pairs}
    assert {tuple(corpus.items[k] for k in same) for same in exact} == copies
    copies |= {tuple(sorted(pair)) for pair in planted.near_pairs}
    assert {tuple(corpus.items[k] for k in pair) for pair in near.pairs} == copies
    assert {
        level.level: Crossing(level.groups, level.crossing_seen, level.test_clips_seen)
        for level in audit.levels
    } == planted.crossings


def test_the_same_seed_gives_the_same_bytes_and_another_seed_does_not():
    first, again, other = (make_corpus(SMALL, np.random.default_rng(seed)) for seed in (1, 1, 2))

    assert first.corpus.digest == again.corpus.digest
    assert first.corpus.digest != other.corpus.digest


def test_only_whole_hands_are_missing_and_their_values_are_zero(demo):
    present = demo.keypoints.present
    body, left, right = (present[:, block.start : block.stop] for block in ARMS.blocks)

    assert body.all()
    for hand in (left, right):
        assert (hand.all(axis=1) | ~hand.any(axis=1)).all()
        assert 0.01 < 1 - hand.mean() < 0.15
    assert (demo.keypoints.values[~present] == 0).all()


def test_with_all_angles_zero_both_arms_hang_straight_down():
    points = pose_points(np.zeros((1, 2, 6)), np.ones(1))[0]

    at = dict(zip(ARMS.points, points.round(12).tolist(), strict=True))
    assert at["left_shoulder"] == [0.18, 0, 0]
    assert at["left_elbow"] == [0.18, -0.29, 0]
    assert at["left_wrist"] == [0.18, -0.54, 0]
    assert at["right_fingers"] == [-0.18, -0.71, 0]


def test_an_arm_raised_forward_and_bent_inward_ends_before_the_chest():
    angles = np.zeros((1, 2, 6))
    angles[..., 1] = np.pi / 2  # elevation: upper arm level, towards the camera
    angles[..., 2] = np.pi / 2  # roll: the forearm bends inward instead of up
    angles[..., 3] = np.pi / 2  # elbow: at a right angle

    points = pose_points(angles, np.ones(1))[0]

    left_elbow, left_wrist = points[4].round(12).tolist(), points[6].round(12).tolist()
    assert left_elbow == [0.18, 0, -0.29]
    assert left_wrist == [0.18 - 0.25, 0, -0.29]


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=25, deadline=None)
def test_bones_keep_their_length_whatever_the_joints_do(seed):
    rng = np.random.default_rng(seed)

    points = pose_points(rng.uniform(-3, 3, (5, 2, 6)), np.full(5, 1.1))

    bones = {(2, 4): 0.29, (4, 6): 0.25, (6, 8): 0.17, (6, 9): 0.10, (3, 5): 0.29, (7, 11): 0.10}
    for (near, far), length in bones.items():
        measured = np.linalg.norm(points[:, far] - points[:, near], axis=-1)
        np.testing.assert_allclose(measured, 1.1 * length)


def test_a_corpus_larger_than_a_block_is_the_same_whatever_the_block(monkeypatch):
    from snellen.tasks.isolated import synthetic

    whole = make_corpus(SMALL, np.random.default_rng(3))
    monkeypatch.setattr(synthetic, "BLOCK", 7)

    in_blocks = make_corpus(SMALL, np.random.default_rng(3))

    assert whole.keypoints.digest == in_blocks.keypoints.digest


def test_a_written_folder_reads_back_as_the_same_corpus(tmp_path):
    planted = make_corpus(SMALL, np.random.default_rng(4))

    write_folder(planted.corpus, planted.keypoints, tmp_path / "synthetic")

    back = data.read(tmp_path / "synthetic")
    assert back.corpus.digest == planted.corpus.digest
    assert back.keypoints.digest == planted.keypoints.digest
    assert back.keypoints.layout == ARMS


@pytest.mark.train
def test_trees_win_where_signers_are_known_and_lose_to_a_line_where_they_are_new(demo):
    # The trap the demo is there to show: habits of a signer, learnt as if they were the sign.
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.ensemble import ExtraTreesClassifier
    from sklearn.model_selection import GroupKFold, StratifiedKFold, cross_val_score

    features = _eight_instants(demo.keypoints)
    classes, signers = demo.corpus.classes, demo.corpus.column("signer")
    known = StratifiedKFold(4, shuffle=True, random_state=0)
    models = {
        "line": LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"),
        "trees": ExtraTreesClassifier(60, random_state=0, n_jobs=1),
    }

    accuracy = {
        name: (
            cross_val_score(model, features, classes, cv=known).mean(),
            cross_val_score(model, features, classes, groups=signers, cv=GroupKFold(4)).mean(),
        )
        for name, model in models.items()
    }

    assert accuracy["trees"][0] > accuracy["line"][0] > 0.8
    assert accuracy["line"][1] > accuracy["trees"][1] + 0.05
    assert accuracy["line"][0] > accuracy["line"][1] + 0.15


def _eight_instants(keypoints):
    """Elbows and wrists at eight instants, seen from the middle of the shoulders."""
    rows = []
    for k in range(len(keypoints)):
        values, _ = keypoints.clip(k)
        middle = values[:, 2:4].mean(axis=1, keepdims=True)
        instants = np.linspace(0, len(values) - 1, 8).astype(int)
        rows.append((values - middle)[instants, 4:8].ravel())
    return np.array(rows)
