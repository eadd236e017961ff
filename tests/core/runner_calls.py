"""What the workers do in test_runner*.py; found by name, so it must not be a test module."""

import ctypes
import hashlib
import json
import os
import time
from pathlib import Path

import numpy as np


def folder(spec):
    return Path(spec)


def broken_setup(spec):
    raise OSError(f"no recordings in {spec}")


def dying_setup(spec):
    os._exit(3)


def square(context, spec):
    return json.dumps([context and str(context), spec, spec["n"] ** 2]).encode()


def echo(context, spec):
    return json.dumps(spec).encode()


def logged(log, spec):
    """Burn a few milliseconds, noting in a file per process that task ``spec`` was begun."""
    with (log / str(os.getpid())).open("a") as file:
        file.write(f"{spec}\n")
    end = time.perf_counter() + 0.005
    data = str(spec).encode()
    while time.perf_counter() < end:
        data = hashlib.sha256(data).digest()
    return hashlib.sha256(str(spec).encode()).digest()


def waiting(log, spec):
    (log / str(os.getpid())).touch()
    time.sleep(600)
    return b""


def gram(context, spec):
    """Sums long enough for BLAS to share them out among its threads."""
    rng = np.random.default_rng(spec)
    a = rng.standard_normal((300, 400))
    values, vectors = np.linalg.eigh(a @ a.T)
    return values.tobytes() + vectors.tobytes()


def threads(context, spec):
    import threadpoolctl

    return json.dumps([pool["num_threads"] for pool in threadpoolctl.threadpool_info()]).encode()


def chatter(context, spec):
    os.write(1, b'{"type": "Outcome", "state": "ok"}\n')
    print("to whom it may concern")  # noqa: T201
    return input_or_nothing().encode()


def input_or_nothing():
    try:
        return input()
    except EOFError:
        return "nothing to read"


def trouble(context, spec):
    """One way to fail for each word."""
    if spec == "raise":
        raise ValueError("no such frame")
    if spec == "memory":
        return bytes(1 << 62)
    if spec == "text":
        return "not bytes"
    if spec == "segfault":
        ctypes.string_at(0)
    if spec == "exit":
        os._exit(7)
    if spec == "hang":
        time.sleep(600)
    return spec.encode()


def dies_once(log, spec):
    mark = log / "died"
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), 9)
    return b"second try"


def large(context, spec):
    return bytes(spec)
