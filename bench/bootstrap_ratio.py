"""How many times faster are 10,000 cluster resamples than a loop over scikit-learn?

Accuracy and macro-F1 of 154 clips, 50 classes, 49 groups. The usual way draws
groups, collects their rows and calls accuracy_score and f1_score; it is timed on
fewer resamples and scaled up. Both sides run in this process, taking turns, on
one thread. Both must give the same percentiles within Monte-Carlo error.

    python bench/bootstrap_ratio.py [--json FILE]

Ends with 1 below the goal of 200 times, or where the percentiles differ.
"""

import argparse
import json
import statistics
import sys
import time
import tracemalloc
from pathlib import Path

import numpy as np
from sklearn.metrics import accuracy_score, f1_score
from threadpoolctl import threadpool_limits

from snellen.metrics.classify import ClassCounts, class_counts, confusion, macro_f1
from snellen.metrics.intervals import bootstrap
from snellen.metrics.ratio import Ratio, divide

CLIPS, CLASSES, GROUPS = 154, 50, 49
RESAMPLES, LOOP_RESAMPLES, ROUNDS = 10_000, 400, 5
GOAL = 200.0
TAILS = (0.025, 0.975)


def clips():
    rng = np.random.default_rng(154)
    truth = np.arange(CLIPS) % CLASSES
    group = rng.permutation(np.arange(CLIPS) % GROUPS)
    skill = rng.uniform(0.5, 0.9, GROUPS)[group]
    answer = np.where(rng.random(CLIPS) < skill, truth, rng.integers(0, CLASSES, CLIPS))
    return truth, answer, group


def vectorised(truth, answer, group, rng):
    """(resamples, 2): class counts of each group, times how often the group is drawn."""
    one = np.eye(GROUPS)[:, group]
    counts = class_counts(confusion(truth, answer, CLASSES, one))
    per_group = np.concatenate(counts, axis=-1)

    def statistic(weights):
        drawn = ClassCounts(*(weights @ per_group).reshape(-1, 3, CLASSES).swapaxes(0, 1))
        right = divide(drawn.correct.sum(axis=-1), drawn.support.sum(axis=-1))
        macro = macro_f1(drawn)
        return Ratio(*(np.stack(pair, axis=-1) for pair in zip(right, macro, strict=True)))

    return bootstrap(statistic, np.arange(GROUPS), rng, RESAMPLES, per_group.shape[1]).value


def looped(truth, answer, group, rng):
    """(fewer resamples, 2): rows collected and scored one resample at a time."""
    rows_of = [np.flatnonzero(group == g) for g in range(GROUPS)]
    figures = []
    for _ in range(LOOP_RESAMPLES):
        rows = np.concatenate([rows_of[g] for g in rng.integers(0, GROUPS, GROUPS)])
        t, a = truth[rows], answer[rows]
        present = np.unique(t)
        macro = f1_score(t, a, labels=present, average="macro", zero_division=0)
        figures.append((accuracy_score(t, a), macro))
    return np.array(figures)


def timed(function, *arguments):
    start = time.perf_counter()
    result = function(*arguments)
    return result, time.perf_counter() - start


def peak_mebibytes(data):
    """Peak of the vectorised side, and what all its resampled counts would take at once."""
    tracemalloc.start()
    vectorised(*data, np.random.default_rng(0))
    peak = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    return peak, RESAMPLES * CLASSES * (CLASSES + 1) * 8 / 2**20


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="also write the results here")
    options = parser.parse_args()
    data, rng = clips(), np.random.default_rng(0)
    vectorised(*data, rng)  # both sides warm
    looped_figures, ours_s, loop_s = [], [], []
    for _ in range(ROUNDS):
        figures, took = timed(looped, *data, rng)
        looped_figures.append(figures)
        loop_s.append(took * RESAMPLES / LOOP_RESAMPLES)
        fast, took = timed(vectorised, *data, rng)
        ours_s.append(took)
    slow = np.concatenate(looped_figures)
    ratio = statistics.median(a / b for a, b in zip(loop_s, ours_s, strict=True))
    bounds_fast, bounds_slow = (np.quantile(x, TAILS, axis=0).T for x in (fast, slow))
    # A 2.5 % quantile of m draws has about sd * sqrt(pq / m) / density = 2.7 sd / sqrt(m).
    allowed = 4 * 2.7 * fast.std(axis=0) * np.sqrt(1 / len(slow) + 1 / len(fast))
    same = bool((np.abs(bounds_fast - bounds_slow) <= allowed[:, np.newaxis]).all())
    peak, whole = peak_mebibytes(data)
    passed = ratio >= GOAL and same
    print(f"{RESAMPLES:,} cluster resamples, {CLIPS} clips, {CLASSES} classes, {GROUPS} groups")
    print(f"loop over scikit-learn  {statistics.median(loop_s):8.2f} s (scaled up)")
    print(f"  each of {ROUNDS} rounds timed on {LOOP_RESAMPLES} resamples")
    print(f"snellen                 {statistics.median(ours_s):8.4f} s")
    print(f"ratio                   {ratio:8.0f}x (median of {ROUNDS} paired rounds)")
    print(f"peak memory             {peak:8.1f} MiB (all confusions at once: {whole:.0f} MiB)")
    for name, a, b in zip(("accuracy", "macro-F1"), bounds_fast, bounds_slow, strict=True):
        print(f"{name}: snellen {a[0]:.4f}..{a[1]:.4f}, loop {b[0]:.4f}..{b[1]:.4f}")
    print(f"same within Monte-Carlo error: {'yes' if same else 'NO'}")
    print(f"goal {GOAL:.0f}x: {'reached' if ratio >= GOAL else 'MISSED'}")
    if options.json:
        report = {
            "goal": GOAL,
            "loop_seconds_scaled": statistics.median(loop_s),
            "loop_resamples_timed": LOOP_RESAMPLES * ROUNDS,
            "passed": passed,
            "peak_mebibytes": peak,
            "ratio": ratio,
            "resamples": RESAMPLES,
            "same_percentiles": same,
            "snellen_seconds": statistics.median(ours_s),
        }
        options.json.write_text(json.dumps(report, indent=1, sort_keys=True) + "\n")
    return 0 if passed else 1


if __name__ == "__main__":
    with threadpool_limits(limits=1):
        sys.exit(main())
