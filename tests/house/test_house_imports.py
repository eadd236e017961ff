"""What may import what, and what may not be loaded before it is needed."""

import pkgutil
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import snellen

ROOT = Path(__file__).resolve().parents[2]
# Heavy, or needed by a few verbs only: loaded inside the functions that use them.
LAZY = ("sklearn", "aeon", "pandas", "numba", "vl_convert", "scipy.optimize")
LOADED = "import sys; print(*sorted(name for name in sys.modules))"


def lint_imports(folder):
    """Import-linter on the package in ``folder``/src."""
    return subprocess.run(
        [Path(sys.executable).parent / "lint-imports", "--no-cache"],
        cwd=folder,
        env={"PYTHONPATH": str(folder / "src"), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def copied(tmp_path_factory):
    folder = tmp_path_factory.mktemp("project")
    shutil.copy(ROOT / "pyproject.toml", folder)
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "src", folder / "src", ignore=ignore)
    return folder


def test_every_import_points_down_a_floor():
    result = lint_imports(ROOT)

    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("metrics/classify.py", "from snellen.core import corpus"),
        ("report/text.py", "import numpy"),
        ("core/corpus.py", "from snellen.tasks import isolated"),
        ("store/files.py", "from snellen.core import split"),
    ],
)
def test_an_import_that_points_up_is_named(copied, module, line):
    path = copied / "src/snellen" / module
    source = path.read_text(encoding="utf-8")
    path.write_text(f"{source}\n{line}\n", encoding="utf-8")

    result = lint_imports(copied)
    path.write_text(source, encoding="utf-8")

    assert result.returncode == 1
    assert f"snellen.{module.removesuffix('.py').replace('/', '.')}" in result.stdout


def loaded_after(code):
    """Names of all modules in a fresh interpreter after ``code``."""
    result = subprocess.run(
        [sys.executable, "-c", f"{code}\n{LOADED}"], capture_output=True, text=True, check=True
    )
    return set(result.stdout.splitlines()[-1].split())


HELP = """
import sys
from snellen.cli import main
sys.argv = ["snellen", "--help"]
try:
    main()
except SystemExit:
    pass
"""


@pytest.mark.parametrize("code", ["import snellen", HELP], ids=["import", "help"])
def test_importing_snellen_and_asking_for_help_load_nothing_heavy(code):
    loaded = loaded_after(code)

    assert "snellen" in loaded
    assert sorted(loaded & set(LAZY)) == []


def test_no_module_loads_a_training_library_when_it_is_imported():
    modules = [
        found.name
        for found in pkgutil.walk_packages(snellen.__path__, "snellen.")
        if not found.name.endswith("__main__")
    ]
    everything = "\n".join(f"import {name}" for name in modules)

    loaded = loaded_after(everything)

    assert set(modules) <= loaded
    assert sorted(loaded & {"sklearn", "aeon", "pandas", "numba", "vl_convert"}) == []


@pytest.mark.parametrize("name", [name for name in LAZY if find_spec(name.split(".")[0])])
def test_a_heavy_library_would_be_seen_if_it_were_loaded(name):
    assert name in loaded_after(f"import {name}")
