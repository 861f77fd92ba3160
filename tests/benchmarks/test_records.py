"""Every committed measurement says at which commit, by which command and where it was made; runs, with which recipe."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.provenance import read_page
from papers.li2023.plan import plan
from papers.li2023.store import Store

RESULTS = Path(__file__).resolve().parents[2] / "benchmarks" / "results"
COMMIT = re.compile(r"[0-9a-f]{7,40}(\+edits)?")
TRAINED = (
    "addition",
    "any_rule",
    "projections",
    "shortcuts",
    "shortcuts_cpu",
    "your_data",
)  # trainings, each by a recipe
# Measured before records kept their provenance, and why not since. Pages that show them say so. Each is to be measured
# again or withdrawn, and then leaves this list.
PENDING: dict[str, str] = {}

pytestmark = pytest.mark.skipif(not RESULTS.is_dir(), reason="the benchmarks are not part of this distribution")


def made(page: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The measurements of a file, each with its own provenance."""
    for kind in ("measured", "runs"):
        if kind in page:
            return iter(page[kind].items())
    if "groups" in page:
        found = [c for group in page["groups"].values() for c in group["candidates"].values()]
        return iter([("page", page), *((f"run {i}", run) for c in found for i, run in enumerate(c["runs"]))])
    return iter([("page", page)] if "commit" in page else page.items())


def lacking(name: str) -> list[str]:
    """What the measurements of a file do not say."""
    if name == "reproduction":
        store = Store(RESULTS / name)
        return [cell.name for cell in plan("all") if store.shown(cell) is None]
    found = []
    for key, run in made(read_page(RESULTS / f"{name}.json")):
        parts = ["environment", "command", *(["recipe"] if name in TRAINED else [])]
        found += [f"{key}: {part}" for part in parts if not run.get(part)]
        found += [f"{key}: commit"] * (not COMMIT.fullmatch(str(run.get("commit"))))
    return found


def names() -> list[str]:
    return sorted({path.stem for path in RESULTS.glob("*.json")} | {"reproduction"})


@pytest.mark.parametrize("name", names())
def test_a_committed_record_has_its_provenance_or_is_pending(name: str) -> None:
    found = lacking(name)
    if name in PENDING:
        assert found, f"{name} is complete: take it off PENDING"
    else:
        assert not found, f"{name} does not say all of where it is from: {found[:5]}; measure it again, or withdraw it"


def test_nothing_is_pending_that_is_not_there() -> None:
    assert set(names()) >= PENDING.keys()
