"""The names of softground itself: forty, found by Tab, the old ones with a warning; nothing leaks."""

from __future__ import annotations

import ast
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import softground as sg
from softground.retired import MOVED


def test_few_names_and_no_leaks() -> None:
    shown = dir(sg)
    assert shown == sorted(set(shown))
    assert len(sg.__all__) <= 45
    assert set(sg.__all__) < set(shown)
    rooms = set(shown) - set(sg.__all__) - {"__version__"}
    assert all(getattr(sg, room).__name__ == f"softground.{room}" for room in rooms)
    public = {name for name in vars(sg) if not name.startswith("_")}
    assert all(getattr(sg, name).__name__ == f"softground.{name}" for name in public)  # rooms that were imported
    assert not {"find_spec", "import_module", "Any", "TYPE_CHECKING", "annotations"} & {*shown, *vars(sg)}


def test_what_tab_shows_is_the_same_before_and_after() -> None:
    code = "import softground as sg; before = dir(sg); [getattr(sg, n) for n in before]; print(before == dir(sg))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"


def test_type_checkers_know_the_same_names() -> None:
    tree = ast.parse(Path(sg.__file__).with_name("_public.py").read_text(encoding="utf-8"))
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    assert {alias.name for node in imports for alias in node.names} == set(sg.__all__)
    for node in imports:
        for alias in node.names:
            assert getattr(getattr(sg, str(node.module)), alias.name) is getattr(sg, alias.name)


@pytest.mark.parametrize("name", sorted(MOVED))
def test_an_old_name_works_and_says_where_it_is(name: str) -> None:
    room = sg
    for part in MOVED[name].split("."):
        room = getattr(room, part)
    with pytest.warns(DeprecationWarning, match=rf"softground\.{MOVED[name]}\.{name}") as told:
        assert getattr(sg, name) is getattr(room, name)
    assert told[0].filename == __file__
    assert name not in sg.__all__


def test_an_import_of_an_old_name_is_told_of_where_it_stands() -> None:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        exec("from softground import Metropolis", {"__name__": "somewhere"})
    assert "softground.kernels.Metropolis" in str(told[0].message)


def test_a_name_that_never_was() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        sg.Nonsense  # noqa: B018
    with pytest.raises(AttributeError, match="is gone"):
        sg.Mixture  # noqa: B018
