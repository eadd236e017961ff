"""What tests of every area share."""

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The real recordings beside the project; tests that need them are skipped by name."""
    folder = Path(__file__).resolve().parents[1] / ".." / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the real recordings are not beside the project (../shared/data)")
    return folder.resolve()
