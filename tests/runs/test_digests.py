"""The digest of rows: the same however they are shared out, and another for any change."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from softground.runs.digests import rows_digest
from softground.runs.folder import config_digest, history_digest

PLACES = torch.arange(7)
COLUMNS = {
    "floats": torch.randn(7, 3, 2, generator=torch.Generator().manual_seed(0)),
    "bytes": torch.arange(35, dtype=torch.uint8).view(7, 5),
    "bits": torch.arange(14).view(7, 2) % 3 == 0,
    "numbers": torch.arange(7),
}


def digest(rows: Tensor, places: Tensor = PLACES) -> int:
    return rows_digest(rows, places) % 2**64


@pytest.mark.parametrize("rows", COLUMNS.values(), ids=COLUMNS)
def test_those_of_the_parts_add_up(rows: Tensor) -> None:
    for world in (1, 2, 3, 7):
        parts = [rows_digest(rows[rank::world], PLACES[rank::world]) for rank in range(world)]
        assert sum(parts) % 2**64 == digest(rows)


@pytest.mark.parametrize("rows", COLUMNS.values(), ids=COLUMNS)
def test_any_change_is_noticed(rows: Tensor) -> None:
    swapped, moved = rows.clone(), PLACES + 1
    swapped[[2, 4]] = rows[[4, 2]]
    assert len({digest(rows), digest(swapped), digest(rows, moved), digest(rows[:6], PLACES[:6])}) == 4
    if rows.dtype == torch.float32:
        flipped = rows.clone()
        flipped[0, 0, 1], flipped[0, 1, 1] = -rows[0, 0, 1], -rows[0, 1, 1]  # two top bits of words
        others = [-rows, flipped, rows.flip(1), rows.flip(2)]
        assert len({digest(rows), *map(digest, others)}) == 5


def test_it_is_the_same_wherever_it_is_made() -> None:
    assert digest(torch.arange(7)) == 2358400351713530152


@pytest.mark.parametrize("other", [2e-7, 1e-7 * (1 + 2**-52), 0.0, -1e-7])
def test_the_smallest_difference_of_numbers_counts(other: float) -> None:
    def config(rate: float) -> dict[str, object]:
        return {"recipe": {"rate": rate}, "settings": {"stages": [{"lr": [1.0, rate]}]}}

    assert config_digest(config(1e-7)) == config_digest(config(1e-7)) != config_digest(config(other))
    assert history_digest("", {"loss": 1e-7}) != history_digest("", {"loss": other})
