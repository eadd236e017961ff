"""How answers were made, in a small file beside them, so that a scorecard can state it.

*Conventions*: ``answers.parquet`` has ``answers.recipe.json``. Answers without one
are scored all the same; their card says ``not stated``, which agrees with
nothing: such a card is compared only where those fields may differ.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec import Struct

from snellen.digest import canonical_json
from snellen.errors import BadInput, Fault
from snellen.store.files import read_json, write_atomic

__all__ = ["NOT_STATED", "Recipe", "read_recipe", "recipe_path", "write_recipe"]

NOT_STATED = "not stated"


class Recipe(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Model name, digest of its recipe, seed, preprocessing fingerprint, digest of the regime."""

    format: str = "snellen-recipe/2"
    model: str | None = None
    recipe: str = NOT_STATED
    seed: str = NOT_STATED
    preprocessing: str = NOT_STATED
    training: str = NOT_STATED


def recipe_path(answers: Path) -> Path:
    """Where the recipe of an answers file stands."""
    return answers.with_suffix(".recipe.json")


def write_recipe(path: Path, recipe: Recipe) -> None:
    """Write a recipe."""
    write_atomic(path, canonical_json(msgspec.to_builtins(recipe), indent=1))


def read_recipe(path: Path) -> Recipe:
    """Read a recipe; one that says ``not stated`` throughout where there is no file."""
    if not path.exists():
        return Recipe()
    try:
        return msgspec.convert(read_json(path), type=Recipe)
    except msgspec.ValidationError as error:
        raise BadInput(Fault(str(path), str(error), "a snellen-recipe/2 file")) from error
