"""A body of two shoulders, one apart, and one hand: its movement is read off the x of the hand."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snellen.live.loop import (
    Caption,
    Reading,
    Sight,
    Votes,
    decided,
    finish,
    start,
    step,
)
from snellen.live.settings import DEFAULT, DOCUMENT, SETTINGS, LiveSettings
from snellen.signal.keypoints import Layout
from snellen.signal.layouts import layout_by_name

TINY = Layout(
    "tiny", ("left_shoulder", "right_shoulder", "left_hand"), ("x", "y"), (), "pixel", (0, 1)
)
A, B, C = 0, 1, 2
ASKED = Sight(idle=False, window=(np.zeros((1, 3, 2)), np.ones((1, 3), bool)))
SLIDING = LiveSettings(
    name="sliding", window="last", frames=4, fewest=4, every=1, look_back=4, threshold=0.7
)
MOVING = LiveSettings(
    name="moving", window="movement", frames=20, fewest=3, every=None, look_back=2, threshold=0.7
)


def frame(x, *, hand=True):
    return np.array([[0, 0], [1, 0], [x, 0]], np.float32), np.array([True, True, hand])


class Windows:
    """Answers "A, surely" and remembers the x of the hand in every window it was asked about."""

    def __init__(self, confidence=0.9):
        self.asked = []
        self.logs = np.log([confidence, (1 - confidence) / 2, (1 - confidence) / 2])

    def __call__(self, values, present):
        self.asked.append(values[:, 2, 0].round(3).tolist())
        return self.logs


def run(xs, settings, answer, *, hand=None):
    state, captions = start(TINY), []
    for k, x in enumerate(xs):
        values, present = frame(x, hand=hand is None or hand[k])
        state, caption = step(state, values, present, k / 10, settings, answer)
        captions.append(caption)
    state, caption = finish(state, settings, answer)
    return captions, caption


def votes_after(readings, settings=SLIDING):
    votes, captions = Votes(), []
    for label, confidence in readings:
        votes = decided(votes, ASKED, Reading(label, confidence), settings)
        captions.append(votes.caption)
    return captions


def test_a_label_needs_two_of_three_votes_and_to_win_three_answers_in_a_row():
    captions = votes_after([(A, 0.9), (A, 0.8), (A, 0.95), (A, 0.85), (A, 0.75)])

    # The first vote wins nothing; answers 2, 3 and 4 are won; the third of these is stable.
    assert [caption.status for caption in captions] == ["PENDING"] * 3 + ["CONFIDENT"] * 2
    assert captions[3] == Caption("CONFIDENT", A, 0.85, new=True)


def test_a_caption_that_stays_is_new_only_once():
    captions = votes_after([(A, 0.9)] * 7)

    assert [caption.new for caption in captions] == [False] * 3 + [True] + [False] * 3


def test_one_stray_answer_does_not_change_the_caption():
    captions = votes_after([(A, 0.9)] * 4 + [(B, 0.99), (A, 0.8)])

    assert [caption.label for caption in captions[3:]] == [A, A, A]
    # The confidence is that of the latest vote for the label shown.
    assert captions[4] == Caption("CONFIDENT", A, 0.9)


def test_another_sign_takes_over_after_it_has_won_three_answers():
    captions = votes_after([(A, 0.9)] * 4 + [(B, 0.9)] * 4)

    # AAAB is still A's; then B has two of three votes, three answers long.
    shown = [(caption.status, caption.label, caption.new) for caption in captions[4:]]
    assert shown == [
        ("CONFIDENT", A, False),
        ("PENDING", B, False),
        ("PENDING", B, False),
        ("CONFIDENT", B, True),
    ]


def test_below_the_gate_an_answer_is_uncertain_and_breaks_the_row():
    captions = votes_after([(A, 0.9)] * 3 + [(A, 0.69), (A, 0.7), (A, 0.9), (A, 0.9)])

    assert captions[3] == Caption("UNCERTAIN", A, 0.69)
    assert [caption.status for caption in captions[4:]] == ["PENDING", "PENDING", "CONFIDENT"]


def test_three_labels_with_a_vote_each_settle_nothing():
    captions = votes_after([(A, 0.9), (B, 0.9), (C, 0.9), (A, 0.9), (B, 0.9), (C, 0.9)])

    assert {caption.status for caption in captions} == {"PENDING"}


def test_the_same_sign_again_is_announced_only_after_a_rest():
    votes = Votes()
    announced = []
    for sight, reading in [
        *[(ASKED, Reading(A, 0.9))] * 4,
        (ASKED, Reading(A, 0.1)),
        *[(ASKED, Reading(A, 0.9))] * 4,
        (Sight(idle=True), None),
        *[(ASKED, Reading(A, 0.9))] * 4,
    ]:
        votes = decided(votes, sight, reading, SLIDING)
        announced.append(votes.caption.new)

    assert np.flatnonzero(announced).tolist() == [3, 13]


def test_between_answers_the_caption_stands_but_is_not_new():
    votes = Votes()
    for _ in range(4):
        votes = decided(votes, ASKED, Reading(A, 0.9), SLIDING)
    assert votes.caption.new

    votes = decided(votes, Sight(idle=False), None, SLIDING)

    assert votes.caption == Caption("CONFIDENT", A, 0.9, new=False)


def test_a_movement_that_is_over_needs_no_votes():
    over = Sight(idle=True, window=ASKED.window, final=True)

    sure = decided(Votes(), over, Reading(B, 0.7), MOVING)
    unsure = decided(Votes(), over, Reading(B, 0.699), MOVING)

    assert sure.caption == Caption("CONFIDENT", B, 0.7, new=True)
    assert unsure.caption == Caption("UNCERTAIN", B, 0.699)


def test_the_last_frames_are_asked_about_once_there_are_enough():
    answer = Windows()

    captions, _ = run([0.0, 0.5, 1.0, 1.5, 2.0, 2.5], SLIDING, answer)

    assert answer.asked == [[0.0, 0.5, 1.0, 1.5], [0.5, 1.0, 1.5, 2.0], [1.0, 1.5, 2.0, 2.5]]
    # Nothing has moved at the first frame; then the buffer fills, then three votes.
    assert [caption.status for caption in captions] == ["IDLE", *["PENDING"] * 5]


def test_the_stride_leaves_frames_unasked_and_the_end_of_the_recording_asks_about_them():
    answer = Windows()

    run([0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5], replace(SLIDING, every=3), answer)

    assert [window[-1] for window in answer.asked] == [1.5, 3.0, 3.5]


def test_a_window_in_seconds_drops_what_is_older():
    answer = Windows()
    settings = replace(SLIDING, frames=100, seconds=0.25, fewest=2, every=1)

    run([0.0, 0.5, 1.0, 1.5, 2.0], settings, answer)

    # Ten frames a second: frames at most 0.25 s older than the latest are three.
    assert answer.asked[-1] == [1.0, 1.5, 2.0]


def test_resting_hands_are_idle_and_never_asked_about():
    answer = Windows()

    captions, last = run([0.3] * 8, SLIDING, answer)

    assert answer.asked == []
    assert {caption.status for caption in [*captions, last]} == {"IDLE"}


@pytest.mark.parametrize(("move", "idle"), [(0.012, False), (0.008, True)])
def test_a_hundredth_of_a_shoulder_width_a_frame_is_movement(move, idle):
    captions, _ = run([0.3 + move * k for k in range(8)], SLIDING, Windows())

    assert (captions[-1].status == "IDLE") == idle


def test_a_hand_seen_in_fewer_than_three_frames_of_ten_is_idle():
    settings = replace(SLIDING, frames=10, fewest=10, look_back=10)
    xs = [0.5 * k for k in range(10)]
    answer = Windows()

    run(xs, settings, answer, hand=[True] * 2 + [False] * 8)
    assert answer.asked == []

    run(xs, settings, answer, hand=[True] * 3 + [False] * 7)
    assert len(answer.asked) == 1


def test_an_absent_hand_has_not_moved_to_where_its_zeros_stand():
    # Never seen in two frames on end: no way is known, and the zeros in between are no way.
    values, present = frame(9.0)
    away = np.where(np.array([1, 1, 0], bool)[:, None], values, 0), np.array([True, True, False])
    state = start(TINY)
    for k in range(8):
        now = (values, present) if k % 2 == 0 else away
        state, caption = step(state, *now, k / 10, SLIDING, Windows())

    assert caption.status == "IDLE"


def test_without_shoulders_in_sight_movement_has_no_unit():
    state = start(TINY)
    for k in range(8):
        values, present = frame(0.5 * k)
        present[0] = False
        state, caption = step(state, values, present, k / 10, SLIDING, Windows())

    assert caption.status == "IDLE"


def test_a_movement_is_asked_about_from_its_first_to_its_last_moving_frame():
    answer = Windows()
    #            rest ........  movement .........  rest
    xs = [0.0, 0.0, 0.0, 0.0, 0.5, 1.0, 1.5, 2.0, 2.0, 2.0, 2.0]

    captions, _ = run(xs, MOVING, answer)

    # The last still frame is no part of it: in a stream it may show the sign before.
    assert answer.asked == [[0.5, 1.0, 1.5, 2.0]]
    # Over two frames, the hand rests for the first time at the second still frame.
    assert [caption.status for caption in captions] == [
        *["IDLE"] * 4,
        *["PENDING"] * 4,
        "CONFIDENT",
        *["IDLE"] * 2,
    ]


def test_two_movements_with_a_rest_between_are_two_captions_even_of_one_sign():
    answer = Windows()

    captions, _ = run([0, 1, 2, 3, 3, 3, 3, 4, 5, 6, 6, 6], MOVING, answer)

    assert answer.asked == [[1, 2, 3], [4, 5, 6]]
    assert sum(caption.new for caption in captions) == 2


def test_a_twitch_is_no_sign():
    answer = Windows()

    captions, _ = run([0, 0, 0, 1, 1, 1, 1], MOVING, answer)

    assert answer.asked == []
    assert captions[-1].status == "IDLE"


def test_a_movement_without_end_is_asked_about_when_the_window_is_full():
    answer = Windows()

    captions, _ = run(list(range(8)), replace(MOVING, frames=5), answer)

    # The next window begins with the last movement in the two frames looked back on.
    assert answer.asked == [[1, 2, 3, 4, 5], [5, 6, 7]]
    assert "IDLE" not in {caption.status for caption in captions[1:]}


def test_the_end_of_the_recording_ends_a_movement():
    answer = Windows()

    _, last = run([0, 1, 2, 3], MOVING, answer)

    assert answer.asked == [[1, 2, 3]]
    assert last == Caption("CONFIDENT", A, pytest.approx(0.9), new=True)


def test_a_movement_may_be_asked_about_while_it_lasts():
    answer = Windows()

    run([0, 1, 2, 3, 4, 5, 5, 5], replace(MOVING, every=2), answer)

    assert answer.asked == [[1, 2, 3], [1, 2, 3, 4, 5], [1, 2, 3, 4, 5]]


def test_a_step_leaves_the_state_it_was_given_as_it_was():
    answer = Windows()
    state = start(TINY)
    for k in range(6):
        state, _ = step(state, *frame(0.5 * k), k / 10, SLIDING, answer)
    before = state.buffer.values.copy(), state.votes

    first, _ = step(state, *frame(9), 0.6, SLIDING, answer)
    second, _ = step(state, *frame(9), 0.6, SLIDING, answer)

    assert np.array_equal(state.buffer.values, before[0])
    assert state.votes == before[1]
    assert np.array_equal(first.buffer.values, second.buffer.values)
    assert first.votes == second.votes


def test_depth_guessed_from_a_picture_is_no_movement():
    layout = layout_by_name("hands-42")
    state = start(layout)
    for k in range(4):
        values = np.zeros((42, 3), np.float32)
        values[:, 2] = k
        state, caption = step(state, values, np.ones(42, bool), k / 10, SLIDING, Windows())

    assert caption.status == "IDLE"


def test_the_documents_setting_has_the_documents_numbers():
    assert (DOCUMENT.window, DOCUMENT.frames, DOCUMENT.threshold) == ("last", 30, 0.70)
    assert (DOCUMENT.hand_presence, DOCUMENT.hand_motion) == (0.30, 0.01)
    assert (DOCUMENT.ballots, DOCUMENT.votes, DOCUMENT.stable) == (3, 2, 3)
    assert (DOCUMENT.seconds, DOCUMENT.every) == (None, 1)


def test_settings_are_found_by_their_names():
    assert {name: setting.name for name, setting in SETTINGS.items()} == {x: x for x in SETTINGS}
    assert SETTINGS["default"] is DEFAULT


@given(
    xs=st.lists(st.floats(0, 3, width=32), min_size=1, max_size=40),
    settings=st.sampled_from(
        [SLIDING, MOVING, replace(MOVING, every=2), replace(SLIDING, every=3)]
    ),
)
def test_no_window_is_shorter_or_longer_than_the_setting_says(xs, settings):
    answer = Windows()

    run(xs, settings, answer)

    assert all(settings.fewest <= len(window) <= settings.frames for window in answer.asked)
