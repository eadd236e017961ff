"""The house rules as functions from source text to sentences about what breaks them.

Each gives one sentence a violation, so that a test can plant one and see it named.
"""

import ast
import re
from pathlib import Path

FILE_LINES, FUNCTION_LINES = 400, 50
DRAWERS = {"utils", "util", "helpers", "helper", "common", "misc", "base", "tools"}
# numpy.random's names that draw from or set no global state
SEEDED = {"Generator", "default_rng", "SeedSequence", "PCG64", "Philox", "BitGenerator"}
PICKLES = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "shelve", "marshal"}
FORBIDDEN_TEXT = {
    "a path of one machine": re.compile(r"/(?:work|root|home/\w+|Users/\w+|mnt|opt/wheels)/"),
    "the address of a registry": re.compile(
        r"(?:pypi|pythonhosted|npmjs|anaconda|deb\.debian|conda)\.(?:org|com)"
    ),
    "an unfinished note": re.compile(r"\b(?:TO[D]O|FIX[M]E|X[X]X)\b"),
}


def long_file(name: str, source: str) -> list[str]:
    lines = len(source.splitlines())
    return [f"{name}: {lines} lines, at most {FILE_LINES}"] if lines > FILE_LINES else []


def long_functions(name: str, source: str) -> list[str]:
    """Signature and code count; a docstring may be as long as it needs to be."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0]
            spoken = first.end_lineno - first.lineno + 1 if ast.get_docstring(node) else 0
            lines = node.end_lineno - node.lineno + 1 - spoken
            if lines > FUNCTION_LINES:
                found.append(f"{name}: {node.name} has {lines} lines, at most {FUNCTION_LINES}")
    return found


def drawers(name: str) -> list[str]:
    parts = {Path(part).stem.strip("_") for part in Path(name).parts}
    return [f"{name}: a module called {part}" for part in sorted(parts & DRAWERS)]


def global_randomness(name: str, source: str) -> list[str]:
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute):
            dotted = ast.unparse(node)
            match = re.fullmatch(r"(?:np|numpy)\.random\.(\w+)", dotted)
            if match and match[1] not in SEEDED:
                found.append(f"{name}:{node.lineno}: {dotted} draws from global state")
        elif isinstance(node, ast.Import) and any(alias.name == "random" for alias in node.names):
            found.append(f"{name}:{node.lineno}: import random draws from global state")
        elif isinstance(node, ast.ImportFrom) and node.module in {"random", "numpy.random"}:
            wrong = sorted({alias.name for alias in node.names} - SEEDED)
            if wrong:
                found.append(f"{name}:{node.lineno}: {', '.join(wrong)} from {node.module}")
    return found


def pickles(name: str, source: str) -> list[str]:
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            module = getattr(node, "module", None)
            names = {module} if module else {alias.name for alias in node.names}
            found += [f"{name}:{node.lineno}: import {x}" for x in sorted(names & PICKLES)]
        elif isinstance(node, ast.Call):
            for keyword in node.keywords:
                if keyword.arg == "allow_pickle" and ast.unparse(keyword.value) != "False":
                    found.append(f"{name}:{node.lineno}: allow_pickle may be true")
            called = ast.unparse(node.func)
            named = {keyword.arg for keyword in node.keywords}
            if called in {"np.load", "numpy.load"} and "allow_pickle" not in named:
                found.append(f"{name}:{node.lineno}: {called} without allow_pickle=False")
    return found


def globals_and_keywords(name: str, source: str) -> list[str]:
    """``global`` statements, and functions that swallow whatever they are given."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Global):
            found.append(f"{name}:{node.lineno}: global {', '.join(node.names)}")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.args.kwarg:
            found.append(f"{name}:{node.lineno}: {node.name} takes **{node.args.kwarg.arg}")
    return found


def public_names(name: str, source: str) -> list[str]:
    """``__all__`` is there, sorted, defined, and every function and class in it is documented."""
    tree = ast.parse(source)
    exported = next(
        (
            ast.literal_eval(node.value)
            for node in tree.body
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
        ),
        None,
    )
    found = [] if ast.get_docstring(tree) else [f"{name}: no module docstring"]
    if exported is None:
        says_nothing = all(isinstance(node, ast.Expr) for node in tree.body)
        return found if says_nothing else [*found, f"{name}: no __all__"]
    order = sorted(exported, key=lambda x: (not x.isupper(), not x[0].isupper(), x))
    if list(exported) != order:
        found.append(f"{name}: __all__ is not sorted")
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            undocumented = [] if ast.get_docstring(node) else [node.name]
            if isinstance(node, ast.ClassDef):
                undocumented += [
                    f"{node.name}.{inner.name}"
                    for inner in node.body
                    if isinstance(inner, ast.FunctionDef)
                    and not inner.name.startswith("_")
                    and not ast.get_docstring(inner)
                ]
            if node.name in exported:
                found += [f"{name}: {x} has no docstring" for x in undocumented]
    return found


def forbidden_text(name: str, text: str) -> list[str]:
    return [
        f"{name}:{number}: {what}: {match[0]!r}"
        for number, line in enumerate(text.splitlines(), start=1)
        for what, pattern in FORBIDDEN_TEXT.items()
        if (match := pattern.search(line))
    ]


def unlisted_pages(index: str, pages: list[str]) -> list[str]:
    linked = set(re.findall(r"\]\(([^)#]+)", index))
    return [f"docs/{page} is not in docs/README.md" for page in pages if page not in linked]


def dead_links(name: str, text: str, folder: Path) -> list[str]:
    links = re.findall(r"\]\((?!https?:|mailto:|#)([^)#\s]+)", text)
    return [f"{name}: no file {link}" for link in links if not (folder / link).exists()]


def commands_in(text: str) -> list[list[str]]:
    """The words of every ``snellen ...`` line in a page's code blocks."""
    blocks = re.findall(r"^```(?:sh|bash|console|)\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    joined = "\n".join(blocks).replace("\\\n", " ")
    lines = (
        line.strip().removeprefix("$ ").removeprefix(".venv/bin/") for line in joined.splitlines()
    )
    return [line.split("#")[0].split() for line in lines if line.startswith("snellen ")]
