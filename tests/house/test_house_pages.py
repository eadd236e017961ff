"""Pages that cannot rot: links, commands, versions, changelog, decisions."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import house_rules as rules
import pytest
import typer
from packaging.requirements import Requirement

from snellen.cli.app import app

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = [
    path
    for pattern in ("*.md", "docs/**/*.md", "src/**/*.md", "changelog.d/*.md")
    for path in sorted(ROOT.glob(pattern))
]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
FRAGMENT = re.compile(r"(\d+|\+[a-z-]+)\.(feature|fix|figure|removal)\.md")


def test_every_page_of_the_docs_is_in_their_index():
    pages = [path.relative_to(DOCS).as_posix() for path in sorted(DOCS.rglob("*.md"))]
    pages.remove("README.md")
    index = (DOCS / "README.md").read_text(encoding="utf-8")

    assert rules.unlisted_pages(index, [*pages, "planted.md"]) == [
        "docs/planted.md is not in docs/README.md"
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_between_pages_lead_somewhere(page):
    text = page.read_text(encoding="utf-8") + "\n[planted](no/such/page.md)\n"

    assert rules.dead_links(page.name, text, page.parent) == [
        f"{page.name}: no file no/such/page.md"
    ]


def unknown_words(command):
    """The verb or the options of a ``snellen`` command that do not exist."""
    verbs = typer.main.get_command(app)
    if len(command) == 1 or command[1].startswith("-"):
        return []
    verb = verbs.commands.get(command[1])
    if verb is None:
        return [command[1]]
    known = {option for param in verb.params for option in param.opts + param.secondary_opts}
    used = [word.split("=")[0] for word in command[2:] if re.match(r"--?[a-z]", word)]
    return [option for option in used if option not in {*known, "--help"}]


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_commands_shown_on_a_page_exist_with_their_options(page):
    commands = rules.commands_in(page.read_text(encoding="utf-8"))

    assert [word for command in commands for word in unknown_words(command)] == []


def test_a_command_that_does_not_exist_would_be_seen():
    page = "```sh\nsnellen polish x\n$ snellen run isolated x \\\n  --shiny -o runs/x\n```\n"

    commands = rules.commands_in(page)

    assert [unknown_words(command) for command in commands] == [["polish"], ["--shiny"]]


def test_the_front_page_shows_commands():
    assert rules.commands_in((ROOT / "README.md").read_text(encoding="utf-8"))


def cogged(page):
    """What cog makes of a page."""
    command = [sys.executable, "-m", "cogapp", "-I", str(DOCS), str(page)]
    return subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout


def test_figures_on_the_front_page_are_those_of_the_result_files(tmp_path):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    planted = tmp_path / "README.md"
    planted.write_text(re.sub(r"\d\d\.\d \[", "99.9 [", text), encoding="utf-8")

    assert "[[[cog" in text
    assert cogged(ROOT / "README.md") == text
    assert cogged(planted) != planted.read_text(encoding="utf-8")


def requirements():
    extras = PROJECT["project"]["optional-dependencies"].values()
    lines = [*PROJECT["project"]["dependencies"], *(line for extra in extras for line in extra)]
    return [Requirement(line) for line in lines]


@pytest.mark.parametrize("needed", requirements(), ids=lambda needed: needed.name)
def test_the_constraints_pin_every_dependency_to_a_version_it_allows(needed):
    text = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    pinned = dict(line.lower().replace("_", "-").split("==") for line in lines)

    assert needed.specifier.contains(pinned[needed.name.lower()])


def test_every_lint_rule_that_is_off_says_why():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    ignored = re.search(r"^ignore = \[\n(.*?)^\]", text, re.DOTALL | re.MULTILINE)[1]

    assert len(ignored.splitlines()) > 5
    assert [line for line in ignored.splitlines() if not re.search(r'",\s+# \w', line)] == []


def test_changelog_fragments_have_a_number_or_a_word_and_a_kind():
    names = [path.name for path in (ROOT / "changelog.d").iterdir() if path.name != "README.md"]
    kinds = {entry["directory"] for entry in PROJECT["tool"]["towncrier"]["type"]}

    assert names
    assert [name for name in names if not FRAGMENT.fullmatch(name)] == []
    assert kinds == {"feature", "fix", "figure", "removal"}
    assert not FRAGMENT.fullmatch("notes.md")


@pytest.mark.parametrize("record", sorted((DOCS / "decisions").glob("*.md")), ids=lambda p: p.name)
def test_a_decision_names_what_confirms_it(record):
    headings = re.findall(r"^## (.+)$", record.read_text(encoding="utf-8"), re.MULTILINE)

    assert re.fullmatch(r"\d{4}-[a-z0-9-]+\.md", record.name)
    assert headings[-1] == "Confirmation"


def test_every_target_of_the_makefile_is_explained():
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.search(r"^\.PHONY: (.+)$", text, re.MULTILINE)[1].split()

    assert [x for x in targets if not re.search(rf"^{x}:.*## \w", text, re.MULTILINE)] == []
    assert {
        "demo",
        "test",
        "check",
        "bench",
        "golden",
        "full",
        "evaluation",
        "docs",
        "clean",
        "help",
    } == set(targets)


def test_the_licence_is_the_apache_licence_and_the_citation_has_the_version():
    assert "Apache License" in (ROOT / "LICENSE").read_text(encoding="utf-8").splitlines()[0]
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    version = re.search(
        r'__version__ = "(.+)"', (ROOT / "src/snellen/__init__.py").read_text(encoding="utf-8")
    )
    assert f"version: {version[1]}\n" in citation
