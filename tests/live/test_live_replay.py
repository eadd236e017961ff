from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snellen.core.cells import Measured, NotMeasurable
from snellen.core.study import Study, Subject, Trained
from snellen.errors import BadInput
from snellen.live.loop import Reading, finish, start, step
from snellen.live.replay import Recording, caught, sightings, study_replay
from snellen.live.settings import DOCUMENT, LiveSettings
from snellen.signal.keypoints import Keypoints, Layout, gather

TINY = Layout(
    "tiny", ("left_shoulder", "right_shoulder", "left_hand"), ("x", "y"), (), "pixel", (0, 1)
)
WHOLE = LiveSettings(
    name="whole",
    window="last",
    frames=10_000,
    fewest=1,
    every=1,
    threshold=0.0,
    ballots=1,
    votes=1,
    stable=1,
    look_back=10_000,
    hand_presence=0.0,
    hand_motion=0.0,
)
MOVING = replace(
    WHOLE, name="moving", window="movement", every=None, fewest=2, look_back=3, hand_motion=0.01
)
LABELS = 3


def clip(xs):
    """Shoulders one apart, and a hand at these x."""
    values = np.zeros((len(xs), 3, 2), np.float32)
    values[:, 1, 0] = 1
    values[:, 2, 0] = xs
    return values, np.ones((len(xs), 3), bool)


def prepare(keypoints):
    """Mean, first and last x of the hand, as one frame of three channels."""
    rows = []
    for k in range(len(keypoints)):
        x = keypoints.clip(k)[0][:, 2, 0].astype(np.float64)
        rows.append([[x.mean(), x[0], x[-1]]])
    return np.array(rows), np.ones((len(rows), 1, 3), bool)


def nearest(values, _mask):
    """The label whose number is nearest to the mean x of the hand, the surer the nearer."""
    return np.log(closeness(values[:, 0, :1]))


def closeness(x):
    near = np.exp(-4 * np.abs(x - np.arange(LABELS)))
    return near / near.sum(axis=1, keepdims=True)


def study_of(clips, labels, *, groups=None, models=("nearest",), layout=TINY, rounds=2):
    items = tuple(f"clip-{k:02d}" for k in range(len(clips)))
    tested = [np.arange(len(clips))[r::rounds] for r in range(rounds)]

    def load(round_):
        return Trained(round_, tested[round_], nearest)

    return Study(
        corpus="toy",
        protocol="signer",
        protects=None if groups is None else "signer",
        items=items,
        labels=np.array(labels),
        groups=groups,
        vocabulary=tuple("abc"[:LABELS]),
        keypoints=gather(layout, items, clips),
        prepare=prepare,
        preprocessing="toy",
        frames=1,
        subjects=tuple(Subject(m, tuple(range(rounds)), load, None, Path()) for m in models),
    )


xs_of_clips = st.lists(
    st.lists(st.floats(0, 2, width=32), min_size=2, max_size=25), min_size=2, max_size=6
)


@settings(max_examples=25)
@given(xs=xs_of_clips, seed=st.integers(0, 2**20))
def test_with_the_whole_clip_in_the_window_and_no_gate_live_is_offline(xs, seed):
    labels = np.random.default_rng(seed).integers(0, LABELS, len(xs))

    row = study_replay(study_of([clip(x) for x in xs], labels), [WHOLE], seed=seed).rows[0]

    assert row.live.value == row.ungated.value == row.offline.value
    assert row.live_delta.value == 0
    assert row.committed == 1


settings_drawn = st.builds(
    LiveSettings,
    name=st.just("drawn"),
    window=st.sampled_from(["last", "movement"]),
    frames=st.integers(6, 20),
    seconds=st.none() | st.floats(0.1, 1.0),
    fewest=st.integers(1, 5),
    every=st.integers(1, 4),
    threshold=st.floats(0, 1),
    ballots=st.integers(1, 4),
    votes=st.integers(1, 3),
    stable=st.integers(1, 3),
    look_back=st.integers(2, 6),
    hand_presence=st.floats(0, 0.6),
    hand_motion=st.sampled_from([0.0, 0.01, 0.5]),
)


@given(
    xs=st.lists(st.floats(0, 2, width=32) | st.just(1.0), min_size=1, max_size=60),
    hand=st.lists(st.booleans(), min_size=60, max_size=60),
    setting=settings_drawn,
)
def test_a_replay_in_batches_captions_as_the_step_does(xs, hand, setting):
    values, present = clip(xs)
    present[:, 2] = hand[: len(xs)]
    values[~present] = 0

    sighted = list(sightings(TINY, values, present, setting))
    windows = [x.sight.window for x in sighted if x.sight.window is not None]
    batch = []
    if windows:
        names = tuple(f"{k:03d}" for k in range(len(windows)))
        logs = nearest(*prepare(gather(TINY, names, windows)))
        batch = [Reading(int(row.argmax()), float(np.exp(row.max()))) for row in logs]
    recording = Recording(values, present, np.array([0]), np.array([0]), np.array([len(xs)]))
    found = caught(recording, sighted, batch, setting)

    asked = []

    def answer(window, seen):
        asked.append(len(window))
        return nearest(*prepare(gather(TINY, ("w",), [(window, seen)])))[0]

    state, captions = start(TINY), []
    for k in range(len(xs)):
        state, caption = step(state, values[k], present[k], k / 30, setting, answer)
        captions.append(caption)
    captions.append(finish(state, setting, answer)[1])
    said = [caption.label for caption in captions if caption.status == "CONFIDENT"]

    assert asked == [len(window) for window, _ in windows]
    assert found.answers[0] == len(asked)
    assert found.said[0] == (said[-1] if said else -1)
    assert found.captions[0] == sum(caption.new for caption in captions)
    if said:
        assert found.first_at[0] == [x.status for x in captions].index("CONFIDENT")


def test_the_last_caption_counts_and_one_that_was_right_on_the_way_does_not():
    # The hand dwells at 1, then at 2: the last two frames say 2, an earlier window said 1.
    window = replace(WHOLE, name="short", frames=2, fewest=2, look_back=8)
    clips = [clip([0.9, 1.0, 1.1, 1.0, 1.9, 2.0, 2.0]), clip([0.0, 0.1, 0.0, 0.1])]

    row = study_replay(study_of(clips, [1, 0]), [window], seed=0).rows[0]

    # Offline: means 1.41 and 0.05, both right. Live: label 2 is wrong, label 0 right.
    assert row.offline.value == 1
    assert row.live.value == 0.5
    assert row.live_delta.value == -0.5
    assert row.captions == 1.5
    assert row.answers == (6 + 3) / 2


def test_committed_uncertain_and_unasked_clips_are_counted_apart():
    gated = replace(WHOLE, threshold=0.9, fewest=3, hand_motion=0.01)
    near, between = clip([0.0, 0.1, 0.0]), clip([0.3, 0.4, 0.5])
    still, short = clip([1.0, 1.0, 1.0, 1.0]), clip([2.0, 1.9])

    study = study_of([near, between, still, short], [0, 0, 1, 2])
    row = study_replay(study, [gated], seed=0).rows[0]

    assert (row.committed, row.uncertain, row.unasked) == (0.25, 0.25, 0.5)
    # Right below the gate is right where the gate is left out, and wrong live.
    assert row.offline.value == 1
    # Surer than 0.9 of the whole clip are all but the one between.
    assert row.gated.value == 0.75
    assert row.live.value == 0.25
    assert (row.live_delta.value, row.gated_delta.value) == (-0.75, -0.5)
    assert row.ungated.value == 0.5


def test_no_caption_at_all_has_no_median_of_frames():
    gated = replace(WHOLE, threshold=1.0)

    row = study_replay(study_of([clip([0.3, 0.6])] * 2, [0, 0]), [gated], seed=0).rows[0]

    assert isinstance(row.first_caption, NotMeasurable)
    assert isinstance(row.streamed.delay, NotMeasurable)
    assert row.live.value == 0


def test_frames_to_the_first_caption_count_from_the_beginning_of_the_clip():
    settled = replace(WHOLE, ballots=3, votes=2, stable=2, fewest=2)
    clips = [clip([0.0, 0.1] * 5), clip([1.0, 1.1] * 5)]

    row = study_replay(study_of(clips, [0, 1]), [settled], seed=0).rows[0]

    # Asked from frame 1 on; two votes at frame 2, won twice at frame 3.
    assert row.first_caption.value == 3


def test_in_a_stream_a_pause_parts_the_signs_and_the_caption_comes_after_the_end():
    sign = [0.0, 0.3, -0.3, 0.3, 0.0]
    clips = [clip(np.array(sign) + k % 3) for k in range(6)]
    study = study_of(clips, [k % 3 for k in range(6)], groups=("u", "v") * 3, rounds=1)

    streamed = study_replay(study, [MOVING], seed=3).rows[0].streamed

    assert streamed.accuracy.value == 1
    assert streamed.captions == 1
    # Three frames are looked back on: with frame 4 the last to move, frames 4, 5 and 6
    # are the first three to stand still, and frame 6 is the second after the end at 5.
    assert streamed.delay.value == 1


def test_a_window_of_the_last_frames_carries_one_sign_into_the_next():
    clips = [clip([k % 3, k % 3 + 0.02] * 4) for k in range(6)]
    long = replace(WHOLE, frames=100)

    row = study_replay(study_of(clips, [k % 3 for k in range(6)], rounds=1), [long], seed=3).rows[0]

    assert row.live.value == 1
    assert row.streamed.accuracy.value < 1


def test_clips_out_of_vocabulary_are_not_replayed():
    study = study_of([clip([0.0, 0.1])] * 4, [0, -1, 0, 0])

    found = study_replay(study, [WHOLE], seed=0)

    assert (found.clips, found.of_clips) == (3, 3)
    assert found.rows[0].live.n == 3


def test_fewer_clips_are_the_same_for_every_model_and_setting_and_say_so():
    clips = [clip(np.linspace(0, k / 5, 5)) for k in range(10)]
    study = study_of(clips, [k % 3 for k in range(10)], models=("one", "other"))

    found = study_replay(study, [WHOLE, MOVING], seed=7, clips=2)

    assert (found.clips, found.of_clips) == (4, 10)
    assert len({row.offline.value for row in found.rows}) == 1
    assert [(row.model, row.setting) for row in found.rows] == [
        ("one", "whole"),
        ("one", "moving"),
        ("other", "whole"),
        ("other", "moving"),
    ]


def test_rounds_may_be_chosen_and_must_exist():
    clips = [clip([k % 3, k % 3 + 0.1]) for k in range(6)]
    study = study_of(clips, [k % 3 for k in range(6)], rounds=3)

    found = study_replay(study, [WHOLE], seed=0, rounds=(2,))

    assert (found.rounds, found.of_rounds, found.clips) == ((2,), 3, 2)
    with pytest.raises(BadInput, match="no round 3"):
        study_replay(study, [WHOLE], seed=0, rounds=(2, 3))


def test_intervals_are_over_the_groups_the_split_protects():
    clips = [clip([k % 3, k % 3 + 0.1]) for k in range(12)]
    groups = tuple("uvwx"[k // 3] for k in range(12))
    study = study_of(clips, [k % 3 for k in range(12)], groups=groups)

    row = study_replay(study, [WHOLE], seed=0).rows[0]

    assert isinstance(row.live_delta, Measured)
    assert (row.live.groups, row.live_delta.groups) == (4, 4)


def test_every_model_is_fed_the_same_windows_prepared_once():
    calls = []

    def counted(keypoints: Keypoints):
        calls.append(len(keypoints))
        return prepare(keypoints)

    clips = [clip(np.linspace(0, 1, 6))] * 4
    one = replace(study_of(clips, [0] * 4), prepare=counted)
    two = replace(study_of(clips, [0] * 4, models=("one", "other")), prepare=counted)

    study_replay(one, [WHOLE], seed=0)
    alone = calls.copy()
    calls.clear()
    study_replay(two, [WHOLE], seed=0)

    assert calls == alone


def test_a_clip_of_one_frame_is_never_asked_about():
    row = study_replay(study_of([clip([1.0]), clip([1.0, 1.1])], [1, 1]), [WHOLE], seed=0).rows[0]

    assert row.unasked == 0.5
    assert row.live.value == 0.5


def test_a_layout_without_hands_is_refused_by_name():
    face = Layout("face-only", ("left_shoulder", "right_shoulder", "nose"), ("x", "y"), (), "pixel")

    with pytest.raises(BadInput, match="'face-only' without hands"):
        study_replay(study_of([clip([0, 1])] * 2, [0, 1], layout=face), [DOCUMENT], seed=0)


def test_progress_counts_rounds():
    told = []

    study_replay(
        study_of([clip([0.0, 0.1])] * 4, [0] * 4),
        [WHOLE],
        seed=0,
        progress=lambda *step: told.append(step),
    )

    assert told == [("replay", 0, 2), ("replay", 1, 2), ("replay", 2, 2)]
