"""How many times faster is the whole report than the usual scikit-learn calls?

The report: accuracy; macro and weighted precision, recall and F1; the three for
each class; the confusion matrix. 50 classes, clips in random order. The usual
calls are those for exactly these figures (five), or classification_report,
confusion_matrix and accuracy_score (three). All sides run in this process,
taking turns, on one thread, in processor time; each round gives a ratio and the
median counts. All figures are compared before anything is timed.

    python bench/report_ratio.py [--quick] [--json FILE]

Ends with 1 below the goal: 100 times at 100,000 labels against the three calls.
"""

import argparse
import json
import statistics
import sys
import time
from pathlib import Path

import numpy as np
from sklearn.metrics import (
    accuracy_score,
    classification_report,
    confusion_matrix,
    precision_recall_fscore_support,
)
from threadpoolctl import threadpool_limits

from snellen.metrics import classify

CLASSES = 50
ROUNDS = {154: 31, 100_000: 15, 10_000_000: 3}
GOAL_AT, GOAL = 100_000, 100.0


def ours(truth, answer):
    table = classify.confusion(truth, answer, CLASSES)
    counts = classify.class_counts(table)
    each = [f(counts) for f in (classify.precision, classify.recall, classify.f1)]
    averages = [classify.macro(figure, counts).item() for figure in each]
    averages += [classify.weighted(figure, counts).item() for figure in each]
    right = counts.correct.sum() / counts.support.sum()
    return table[:, :-1], right, np.array([x.value for x in each]), averages


def five_calls(truth, answer):
    settings = {"labels": np.arange(CLASSES), "zero_division": 0}
    macro = precision_recall_fscore_support(truth, answer, average="macro", **settings)
    weighted = precision_recall_fscore_support(truth, answer, average="weighted", **settings)
    each = precision_recall_fscore_support(truth, answer, average=None, **settings)
    return (
        confusion_matrix(truth, answer, labels=settings["labels"]),
        accuracy_score(truth, answer),
        np.array(each[:3]),
        [*macro[:3], *weighted[:3]],
    )


def three_calls(truth, answer):
    names = ("precision", "recall", "f1-score")
    report = classification_report(truth, answer, output_dict=True, zero_division=0)
    return (
        confusion_matrix(truth, answer),
        accuracy_score(truth, answer),
        np.array([[report[str(c)][name] for c in range(CLASSES)] for name in names]),
        [report[f"{kind} avg"][name] for kind in ("macro", "weighted") for name in names],
    )


def labels(n):
    """Every class occurs, so that all label sets are the same."""
    rng = np.random.default_rng(n)
    truth = rng.permutation(np.arange(n) % CLASSES)
    answer = np.where(rng.random(n) < 0.7, truth, rng.integers(0, CLASSES, n))
    return truth, answer


def milliseconds(function, repeats, *arguments):
    start = time.process_time()
    for _ in range(repeats):
        function(*arguments)
    return 1e3 * (time.process_time() - start) / repeats


def measure(n):
    data = labels(n)
    for other in (five_calls, three_calls):
        for mine, its in zip(ours(*data), other(*data), strict=True):
            np.testing.assert_allclose(mine, its, rtol=0, atol=1e-12)
    repeats = max(1, min(2_000_000 // n, 100))  # a short call is timed many times in a row
    rounds = [
        (
            milliseconds(ours, repeats, *data),
            milliseconds(five_calls, 1, *data),
            milliseconds(three_calls, 1, *data),
        )
        for _ in range(ROUNDS[n])
    ]
    mine, five, three = (statistics.median(column) for column in zip(*rounds, strict=True))
    return {
        "labels": n,
        "rounds": len(rounds),
        "snellen_ms": mine,
        "five_calls_ms": five,
        "three_calls_ms": three,
        "ratio_five_calls": statistics.median(a / m for m, a, _ in rounds),
        "ratio_three_calls": statistics.median(b / m for m, _, b in rounds),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="leave out 10,000,000 labels")
    parser.add_argument("--json", type=Path, help="also write the results here")
    options = parser.parse_args()
    results = [measure(n) for n in ROUNDS if not (options.quick and n > GOAL_AT)]
    print(f"whole report, {CLASSES} classes, one thread, same figures; medians of paired rounds")
    print(f"{'':>12}{'':>8}{'processor time, ms':>30}{'ratio to':>21}")
    print(
        f"{'labels':>12}{'rounds':>8}{'snellen':>10}{'5 calls':>10}{'3 calls':>10}"
        f"{'5 calls':>11}{'3 calls':>10}"
    )
    for row in results:
        print(
            f"{row['labels']:>12,}{row['rounds']:>8}{row['snellen_ms']:>10.3f}"
            f"{row['five_calls_ms']:>10.2f}{row['three_calls_ms']:>10.2f}"
            f"{row['ratio_five_calls']:>10.0f}x{row['ratio_three_calls']:>9.0f}x"
        )
    at_goal = next(row for row in results if row["labels"] == GOAL_AT)
    passed = at_goal["ratio_three_calls"] >= GOAL
    verdict = "reached" if passed else "MISSED"
    print(f"goal {GOAL:.0f}x at {GOAL_AT:,} labels against the 3 calls: {verdict}")
    if options.json:
        report = {"goal": GOAL, "goal_at": GOAL_AT, "passed": passed, "results": results}
        options.json.write_text(json.dumps(report, indent=1, sort_keys=True) + "\n")
    return 0 if passed else 1


if __name__ == "__main__":
    with threadpool_limits(limits=1):
        sys.exit(main())
