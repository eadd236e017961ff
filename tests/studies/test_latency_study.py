"""Latency with a clock made by hand: every piece of work says how long it takes."""

import gc
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec
import numpy as np
import pytest

from snellen.core.latency import LatencyStudy
from snellen.core.study import Study, Subject, Trained
from snellen.signal.keypoints import Block, Layout, gather
from snellen.studies.latency import measure_latency, resident_mib

LAYOUT = Layout("toy", ("hand",), ("x", "y"), (Block("hand", 0, 1),), "image")
CLIPS = 20
TURNS, CALLS = 4, 5
# Of two models: one answer to each of eight loads, then five each to warm up.
UNCOUNTED = 18


@dataclass
class Work:
    """A clock that only work moves, and a diary of who answered how many clips."""

    now: float = 0.0
    diary: list = field(default_factory=list)

    def clock(self):
        return self.now

    def takes(self, milliseconds):
        self.now += milliseconds / 1e3

    def prepare(self, keypoints):
        self.takes(0.3 * len(keypoints))
        n = len(keypoints)
        return np.zeros((n, 4, 2), np.float32), np.ones((n, 4, 1), bool)

    def read(self):
        self.takes(40)

    def subject(self, model, folder, cost):
        """A model whose calls take ``cost(calls so far, clips)`` milliseconds."""
        calls = []

        def answer(values, mask):
            self.takes(cost(len(calls), len(values)))
            calls.append(model)
            self.diary.append((model, len(values)))
            return np.zeros((len(values), 2))

        def load(round_):
            self.takes(50)
            return Trained(round_, np.arange(3), answer)

        return Subject(model, (0, 1), load, 12 if model == "a" else None, folder)


def study_of(work, *subjects):
    clips = [(np.zeros((6, 1, 2), np.float32), np.ones((6, 1), bool)) for _ in range(CLIPS)]
    keypoints = gather(LAYOUT, [f"clip{k:02d}" for k in range(CLIPS)], clips)
    return Study(
        corpus="toy",
        protocol="signer",
        protects="signer",
        items=keypoints.items,
        labels=np.zeros(CLIPS, np.int64),
        groups=None,
        vocabulary=("no", "yes"),
        keypoints=keypoints,
        prepare=work.prepare,
        preprocessing="snellen-1",
        frames=4,
        subjects=subjects,
    )


def measured(work, *subjects):
    return measure_latency(
        study_of(work, *subjects),
        work.read,
        turns=TURNS,
        calls=CALLS,
        progress=lambda stage, done, total: None,
        clock=work.clock,
    )


def plain(calls, clips):
    return 1 + 0.1 * clips


def twice(calls, clips):
    return 2 * plain(calls, clips)


def test_times_are_those_of_single_calls_and_ratios_those_to_the_first_model(tmp_path):
    work = Work()

    found = measured(work, work.subject("a", tmp_path, plain), work.subject("b", tmp_path, twice))

    a, b = found.models
    assert (a.model, b.model) == ("a", "b")
    assert a.call.calls == TURNS * CALLS
    assert [a.call.p50, a.call.p95, a.call.p99, a.call.min] == pytest.approx([1.1] * 4)
    assert b.call.p50 == pytest.approx(2.2)
    assert [b.against_first.low, b.against_first.value] == pytest.approx([2, 2])
    assert a.against_first.high == pytest.approx(1)


def test_percentiles_tell_one_slow_call_from_the_rest(tmp_path):
    work = Work()
    # Four loads answer once each and five calls warm up: call 9 is the first that counts.
    slow = work.subject("a", tmp_path, lambda calls, clips: 101 if calls == 9 else 1)

    call = measured(work, slow).models[0].call

    # 20 calls: p95 lies at 0.95 x 19 = 18.05 of 0..19, p99 at 18.81; call 19 is the slow one.
    assert call.p50 == pytest.approx(1)
    assert call.p95 == pytest.approx(1 + 0.05 * 100)
    assert call.p99 == pytest.approx(1 + 0.81 * 100)


def test_what_slows_the_machine_down_slows_all_models_alike(tmp_path):
    work = Work()
    calls_a_turn = 2 * CALLS

    def slowed(cost):
        # Both models stand still ten times longer in every second turn.
        def taken(calls, clips):
            turn = (len([x for x in work.diary if x[1] == 1]) - UNCOUNTED) // calls_a_turn
            return cost(calls, clips) * (10 if turn % 2 else 1)

        return taken

    a = work.subject("a", tmp_path, slowed(plain))
    found = measured(work, a, work.subject("b", tmp_path, slowed(twice)))

    assert found.models[0].call.p95 > 5 * found.models[0].call.min
    ratio = found.models[1].against_first
    assert [ratio.low, ratio.value, ratio.high] == pytest.approx([2, 2, 2])


def test_models_take_turns(tmp_path):
    work = Work()

    measured(work, work.subject("a", tmp_path, plain), work.subject("b", tmp_path, twice))

    singles = [model for model, clips in work.diary if clips == 1]
    assert singles[:UNCOUNTED] == ["a"] * 4 + ["b"] * 4 + ["a"] * 5 + ["b"] * 5
    counted = singles[UNCOUNTED : UNCOUNTED + 2 * TURNS * CALLS]
    assert counted == (["a"] * CALLS + ["b"] * CALLS) * TURNS


def test_throughput_counts_clips_a_second_at_each_batch(tmp_path):
    work = Work()

    rates = measured(work, work.subject("a", tmp_path, plain)).models[0].throughput

    # 128 clips in calls of (1 + 0.1 x batch) ms: 128, 16, 4 and 1 of them.
    taken_s = [128 * 1.1e-3, 16 * 1.8e-3, 4 * 4.2e-3, 13.8e-3]
    assert [rate.batch for rate in rates] == [1, 8, 32, 128]
    assert [rate.clips_per_second for rate in rates] == pytest.approx([128 / s for s in taken_s])


def test_stages_before_the_model_are_a_clip_read_and_a_clip_prepared(tmp_path):
    work = Work()

    found = measured(work, work.subject("a", tmp_path, plain))

    assert found.read_ms == pytest.approx(40 / CLIPS)
    assert found.prepare.p50 == pytest.approx(0.3)
    assert (found.clips, found.frames, found.turns) == (CLIPS, 4, TURNS)


def test_a_model_says_what_it_takes_to_be_loaded(tmp_path):
    (tmp_path / "round-00.npz").write_bytes(b"x" * 200)
    (tmp_path / "round-01.npz").write_bytes(b"x" * 240)
    (tmp_path / "model.json").write_bytes(b"x" * 60)
    work = Work()

    a, b = measured(
        work, work.subject("a", tmp_path, plain), work.subject("b", tmp_path, twice)
    ).models

    assert a.file_bytes == 250
    assert a.load_ms == pytest.approx(50)
    assert (a.parameters, b.parameters) == (12, None)


@pytest.mark.skipif(resident_mib() is None, reason="this system does not say what a process holds")
def test_memory_is_what_each_copy_adds(tmp_path):
    gc.collect()  # what earlier tests left must not go away while this one counts
    work = Work()
    held = []
    light = work.subject("a", tmp_path, plain)

    def load(round_):
        held.append(np.ones(12 * 2**20))  # 96 MiB
        return light.load(round_)

    (one,) = measured(work, replace(light, load=load)).models

    # Whatever else the process lets go of meanwhile is small beside this.
    assert one.memory_mib == pytest.approx(96, abs=32)


def test_memory_is_unknown_where_the_system_does_not_say(tmp_path, monkeypatch):
    work = Work()

    def silent(*arguments, encoding):
        raise FileNotFoundError

    monkeypatch.setattr(Path, "read_text", silent)

    assert measured(work, work.subject("a", tmp_path, plain)).models[0].memory_mib is None


def test_a_study_survives_being_stored(tmp_path):
    work = Work()
    found = measured(work, work.subject("a", tmp_path, plain))

    again = msgspec.convert(msgspec.to_builtins(found), LatencyStudy)

    assert again == found
