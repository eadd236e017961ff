"""Rules for source files. Every rule is run on the project and on a planted violation."""

import subprocess
from pathlib import Path

import house_rules as rules
import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted(ROOT.glob("src/**/*.py"))
OTHERS = sorted([*ROOT.glob("tests/**/*.py"), *ROOT.glob("bench/*.py")])
# The one reader of somebody else's pickles: it admits numpy arrays and nothing else.
RESTRICTED_UNPICKLER = "src/snellen/tasks/isolated/data/include_pickle.py"
LONG = "x = 1\n" * 401


def tracked() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    return [ROOT / name for name in listed.stdout.splitlines() if (ROOT / name).is_file()]


def broken(rule, files, *, but=()):
    """Violations of a rule over files, named from the project's root."""
    found = []
    for path in files:
        name = path.relative_to(ROOT).as_posix()
        if name not in but:
            found += rule(name, path.read_text(encoding="utf-8"))
    return found


def test_the_project_has_source_files_to_check():
    assert len(SOURCES) > 20
    assert len(OTHERS) > 20


PLANTED = [
    (rules.long_file, LONG),
    (rules.long_functions, "def f():\n" + "    x = 1\n" * 50),
    (rules.global_randomness, "import numpy as np\nnp.random.seed(0)"),
    (rules.global_randomness, "from numpy.random import choice"),
    (rules.global_randomness, "import random"),
    (rules.globals_and_keywords, "def f(**options): ..."),
    (rules.globals_and_keywords, "def f():\n    global x\n    x = 1"),
    (rules.public_names, "x = 1"),
    (rules.public_names, '"""D."""\ndef f(): ...'),
    (rules.public_names, '"""D."""\n__all__ = ["f"]\ndef f(): ...'),
    (rules.public_names, '"""D."""\n__all__ = ["b", "a"]\na = b = 1'),
    (rules.public_names, '"""D."""\n__all__ = ["A"]\nclass A:\n  """D."""\n  def m(self): ...'),
    (rules.pickles, "import pickle"),
    (rules.pickles, "from joblib import load"),
    (rules.pickles, "import numpy as np\nnp.load('x', allow_pickle=True)"),
    (rules.pickles, "import numpy as np\nnp.load('x')"),
    (rules.pickles, "np.savez(f, allow_pickle=flag)"),
]
EXCEPT = {rules.pickles: [RESTRICTED_UNPICKLER]}


@pytest.mark.parametrize(("rule", "planted"), PLANTED)
def test_a_planted_violation_is_named(rule, planted):
    assert rule("planted.py", planted)


@pytest.mark.parametrize("rule", dict(PLANTED), ids=lambda rule: rule.__name__)
def test_source_files_keep_the_rule(rule):
    found = broken(rule, SOURCES, but=EXCEPT.get(rule, ()))

    assert not found, "\n".join(found)


def test_the_restricted_reader_still_exists_and_is_the_exception():
    source = (ROOT / RESTRICTED_UNPICKLER).read_text(encoding="utf-8")

    assert [x.rsplit(": ", 1)[1] for x in rules.pickles("reader", source)] == ["import pickle"]
    assert "find_class" in source


@pytest.mark.parametrize("name", ["src/snellen/utils.py", "src/snellen/common/x.py", "helpers.py"])
def test_no_module_is_a_drawer_for_whatever_does_not_fit(name):
    assert rules.drawers(name)
    assert [x for path in SOURCES for x in rules.drawers(str(path.relative_to(ROOT)))] == []


def test_tests_and_benches_draw_from_generators_too():
    assert broken(rules.global_randomness, OTHERS) == []


@pytest.mark.parametrize(
    "planted",
    ["see /" + "work/x", "/home/" + "me/x", "https://pypi" + ".org/simple", "# TO" + "DO later"],
)
def test_a_planted_machine_path_address_or_unfinished_note_is_named(planted):
    assert rules.forbidden_text("planted", planted)


def test_no_tracked_file_holds_a_machine_path_a_registry_address_or_an_unfinished_note():
    found = []
    for path in tracked():
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue  # a binary file holds no prose
        found += rules.forbidden_text(path.relative_to(ROOT).as_posix(), text)

    assert not found, "\n".join(found)


def test_names_of_test_files_are_unique_so_that_no_module_hides_another():
    names = [path.name for path in OTHERS if path.name.startswith("test_")]

    assert sorted(names) == sorted(set(names))


def test_a_task_is_a_folder_of_the_same_pieces():
    for task in (path for path in (ROOT / "src/snellen/tasks").iterdir() if path.is_dir()):
        if task.name == "__pycache__":
            continue
        pieces = {path.stem if path.suffix == ".py" else path.name for path in task.iterdir()}
        assert {"README.md", "data", "model", "align", "card"} <= pieces, task.name
