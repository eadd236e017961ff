"""How many times faster does a network answer here than through Keras on TensorFlow?

The three reference networks at 30 frames of 225 channels and 50 classes. Ours: the
ONNX graph on one thread that never spins, as ``snellen predict`` runs it; batches in
chunks of 32, also over two Python threads. Theirs: the model inside tf.function,
and predict_on_batch, on as many threads as TensorFlow chooses or --tf-threads says.
All give logits and take turns in this process; each round gives a ratio of median
calls and the median of these counts, with the quartiles beside it. Other work on the
machine hits long calls on several threads hardest and makes that ratio too good: the
load when it was measured stands beside it, and so does the ratio of the shortest calls,
which load flatters least. Both must give the same probabilities.

The arithmetic bound is what the multiplications of one clip would take at the best
rate of a large float32 matrix product on one core, measured in the same rounds. A
bound is about the best case, so the shortest call is what is held against it.

    python bench/predict_ratio.py [--rounds N] [--tf-threads N] [--json FILE]

Ends with 1 below the goals: 8 times the tf.function at one clip, in the median and
in the shortest calls, and 2.2 times the bound at most. Without TensorFlow it says so
and ends with 0.
"""

import argparse
import json
import os
import statistics
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from snellen.tasks.isolated.model.neural.nets import build, weights_of
from snellen.tasks.isolated.model.neural.network import network

KINDS = ("lstm", "gru", "gru_mha")
FRAMES, CHANNELS, POINTS, CLASSES = 30, 225, 75, 50
BATCH = 256
SQUARE = 768
GOAL, BOUND_GOAL, LARGEST_DIFFERENCE = 8.0, 2.2, 1e-5
QUIET = 0.5
CALLS = {"snellen": 20, "tf_function": 10, "predict_on_batch": 5}


def pair(kind):
    """A Keras model on TensorFlow and our network with the same weights."""
    net = build(kind, FRAMES, CHANNELS, POINTS, CLASSES, seed=0)
    said = {
        "trained": np.ones(CLASSES, bool),
        "rates": np.zeros(1),
        "frames": np.array([FRAMES]),
    }
    return net, network(kind, weights_of(net) | said)


def ways(kind, clips):
    """Each way to answer ``clips`` as a function without arguments that gives logits."""
    import tensorflow as tf

    net, ours = pair(kind)
    values, mask = clips
    tensors = [tf.constant(values), tf.constant(mask, tf.float32)]

    @tf.function
    def compiled(v, m):
        return net([v, m], training=False)

    arrays = [values, mask.astype(np.float32)]
    one, many = slice(0, 1), slice(None)
    single = [t[one] for t in tensors]
    return {
        "snellen": lambda: ours.logits(values[one], mask[one]),
        "tf_function": lambda: compiled(*single).numpy(),
        "predict_on_batch": lambda: net.predict_on_batch([a[one] for a in arrays]),
        "snellen_batch": lambda: ours.logits(values[many], mask[many]),
        "snellen_batch_2_threads": lambda: ours.logits(values[many], mask[many], threads=2),
        "tf_function_batch": lambda: compiled(*tensors).numpy(),
        "predict_on_batch_batch": lambda: net.predict_on_batch(arrays),
    }, weights_of(net)


def shares(logits):
    raised = np.exp(logits.astype(np.float64) - logits.max(axis=1, keepdims=True))
    return raised / raised.sum(axis=1, keepdims=True)


def flops(kind, weights):
    """Multiplications and additions of one clip's matrix products."""
    total = 0
    for name, array in weights.items():
        if name.endswith((".kernel", ".recurrent")):
            steps = 1 if name.startswith(("dense", "out")) else FRAMES
            total += 2 * steps * array.size
    if kind == "gru_mha":
        width = weights["attention.query.kernel"].shape[1]
        total += 2 * 2 * FRAMES * FRAMES * width
    return total


def seconds(call, repeats):
    taken = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        taken.append(time.perf_counter() - start)
    return taken


def peak_flops(a, b, out):
    """Rate of one core in the best of a few large products."""
    with threadpool_limits(limits=1):
        best = min(seconds(lambda: np.matmul(a, b, out=out), 5))
    return 2 * SQUARE**3 / best


def measure(kinds, rounds):
    rng = np.random.default_rng(0)
    values = rng.standard_normal((BATCH, FRAMES, CHANNELS), dtype=np.float32)
    mask = np.ones((BATCH, FRAMES, POINTS), bool)
    square = [rng.standard_normal((SQUARE, SQUARE), dtype=np.float32) for _ in range(3)]
    calls, work, apart = {}, {}, {}
    for kind in kinds:
        calls[kind], weights = ways(kind, (values, mask))
        work[kind] = flops(kind, weights)
        ours, theirs = (calls[kind][x]() for x in ("snellen_batch", "tf_function_batch"))
        apart[kind] = float(np.abs(shares(ours) - shares(theirs)).max())
        for call in calls[kind].values():
            seconds(call, 5)
    taken = {kind: {name: [] for name in calls[kind]} for kind in kinds}
    peaks = []
    for _ in range(rounds):
        peaks.append(peak_flops(*square))
        for kind in kinds:
            for name, call in calls[kind].items():
                taken[kind][name].append(seconds(call, CALLS.get(name, 1)))
    return taken, max(peaks), work, apart


def spread(ratios):
    low, middle, high = statistics.quantiles(ratios, n=4)
    return {"median": middle, "low": low, "high": high}


def result_of(taken, peak, work, apart):
    medians = {name: [statistics.median(x) for x in each] for name, each in taken.items()}
    ours = medians["snellen"]
    compiled = spread([a / b for a, b in zip(medians["tf_function"], ours, strict=True)])
    at_once = spread([a / b for a, b in zip(medians["predict_on_batch"], ours, strict=True)])
    shortest, theirs = (
        min(min(each) for each in taken[name]) for name in ("snellen", "tf_function")
    )
    times_bound = shortest * peak / work
    batch = {
        name: statistics.median(BATCH / x for x in medians[name])
        for name in taken
        if "batch" in name.removeprefix("predict_on_batch")
    }
    return {
        "snellen_ms": 1e3 * statistics.median(ours),
        "snellen_shortest_ms": 1e3 * shortest,
        "tf_function_ms": 1e3 * statistics.median(medians["tf_function"]),
        "predict_on_batch_ms": 1e3 * statistics.median(medians["predict_on_batch"]),
        "ratio_tf_function": compiled,
        "ratio_predict_on_batch": at_once,
        "ratio_shortest_tf_function": theirs / shortest,
        "clips_per_second": batch,
        "flops_per_clip": work,
        "times_bound": times_bound,
        "largest_difference": apart,
        "fast_enough": min(compiled["median"], theirs / shortest) >= GOAL,
        "near_the_bound": times_bound <= BOUND_GOAL,
        "same": apart <= LARGEST_DIFFERENCE,
    }


def show(results, peak, rounds, load):
    if load > QUIET:
        print(f"NOT A QUIET MACHINE (load {load:.1f}): trust the ratios of the shortest calls")
    print(f"{FRAMES} x {CHANNELS} x {CLASSES}, medians of {rounds} rounds in turns, ms a clip")
    print(
        f"{'':>9}{'snellen':>9}{'tf.function':>13}{'on_batch':>10}"
        f"{'ratio to tf.function':>25}{'shortest':>10}{'ratio to predict_on_batch':>28}"
    )
    for row in results:
        compiled, batch = (
            f"{x['median']:.1f}x ({x['low']:.1f} to {x['high']:.1f})"
            for x in (row["ratio_tf_function"], row["ratio_predict_on_batch"])
        )
        print(
            f"{row['network']:>9}{row['snellen_ms']:>9.3f}{row['tf_function_ms']:>13.3f}"
            f"{row['predict_on_batch_ms']:>10.3f}{compiled:>25}"
            f"{row['ratio_shortest_tf_function']:>9.1f}x{batch:>28}"
        )
    print(f"one core multiplies {SQUARE} x {SQUARE} matrices at {peak / 1e9:.1f} GFLOP/s at best")
    for row in results:
        bound = 1e3 * row["flops_per_clip"] / peak
        print(
            f"{row['network']:>9}: {row['flops_per_clip'] / 1e6:.1f} MFLOP take {bound:.3f} ms at "
            f"least; the shortest call took {row['times_bound']:.2f} times that"
        )
    print(f"clips a second, {BATCH} at once")
    for row in results:
        rates = ", ".join(f"{name} {rate:,.0f}" for name, rate in row["clips_per_second"].items())
        print(f"{row['network']:>9}: {rates}")
    for row in results:
        fast, near, same = (
            "reached" if row[name] else "MISSED"
            for name in ("fast_enough", "near_the_bound", "same")
        )
        print(
            f"{row['network']:>9}: {GOAL:.0f}x tf.function {fast}; {BOUND_GOAL} times the bound "
            f"{near}; same probabilities {same} (apart {row['largest_difference']:.1e})"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=60, help="turns of every way")
    parser.add_argument("--tf-threads", type=int, default=0, help="0: TensorFlow chooses")
    parser.add_argument("--json", type=Path, help="also write the results here")
    options = parser.parse_args()
    if find_spec("tensorflow") is None:
        print("predict_ratio skipped: tensorflow is not installed here (make bench installs it)")
        return 0
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(options.tf_threads)
    tf.config.threading.set_inter_op_parallelism_threads(options.tf_threads)
    load = os.getloadavg()[0]
    taken, peak, work, apart = measure(KINDS, options.rounds)
    results = [
        {"network": kind, **result_of(taken[kind], peak, work[kind], apart[kind])} for kind in KINDS
    ]
    show(results, peak, options.rounds, load)
    goals = ("fast_enough", "near_the_bound", "same")
    passed = all(row[goal] for row in results for goal in goals)
    if options.json:
        report = {
            "batch": BATCH,
            "bound_goal": BOUND_GOAL,
            "cores": os.cpu_count(),
            "goal": GOAL,
            "passed": passed,
            "core_gflops": peak / 1e9,
            "load": load,
            "results": results,
            "rounds": options.rounds,
            "tf_threads": options.tf_threads or "chosen by TensorFlow",
        }
        options.json.write_text(json.dumps(report, indent=1, sort_keys=True) + "\n")
    return 0 if passed else 1


if __name__ == "__main__":
    os.environ.setdefault("KERAS_BACKEND", "tensorflow")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    sys.exit(main())
