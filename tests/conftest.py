"""What tests of every area share: skips by name, golden files, reproducible examples."""

import os
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import settings

# What a machine must have when it is told so: there a skip is a failure.
REQUIRED = {"shared": "SNELLEN_REQUIRE_SHARED", "browser": "SNELLEN_REQUIRE_BROWSER"}
TRAIN = ("sklearn", "aeon", "keras", "jax", "onnxruntime")

settings.register_profile("here", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if "CI" in os.environ else "here"))


def pytest_collection_modifyitems(items):
    absent = [name for name in TRAIN if find_spec(name) is None]
    if absent:
        skip = pytest.mark.skip(reason=f"{', '.join(absent)} not installed: the [train] extra")
        for item in items:
            if item.get_closest_marker("train"):
                item.add_marker(skip)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    for marker, variable in REQUIRED.items():
        required = os.environ.get(variable) == "1" and item.get_closest_marker(marker)
        if required and report.skipped and not hasattr(report, "wasxfail"):
            report.outcome = "failed"
            report.longrepr = f"{variable}=1, but: {call.excinfo.value}"
    return report


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The real recordings beside the project; tests that need them are skipped by name."""
    folder = Path(__file__).resolve().parents[1] / ".." / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the real recordings are not beside the project (../shared/data)")
    return folder.resolve()


@pytest.fixture(scope="session")
def golden():
    """Compare bytes with a file under tests/golden; ``make golden`` writes the file instead."""

    def same(name: str, data: bytes) -> None:
        path = Path(__file__).parent / "golden" / name
        if os.environ.get("SNELLEN_REMAKE_GOLDEN") == "1":
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        assert data == path.read_bytes(), f"{name} differs; if it should, run: make golden"

    return same
