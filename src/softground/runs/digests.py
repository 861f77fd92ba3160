"""Digests: of a tensor, of a run's records, of what its config decides.

A flipped bit in ``config.json`` could give a resumed run another learning rate, one in ``metrics.jsonl`` another past,
and both would still be valid JSON. So a checkpoint, which has a digest of its own, keeps digests of both.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

ROWS = 2**12  # of a tensor, digested at a time: a GPU's need not fit into the memory twice
# Of a recipe: where things are and how they are shown decides nothing. A run may move, and be quiet.
INCIDENTAL = frozenset({"out", "data_dir", "device", "quiet", "json", "tensorboard"})


def tensor_digest(value: Tensor) -> str:
    """SHA-256 of a tensor's dtype, shape and numbers, wherever it is.

    >>> tensor_digest(torch.zeros(2)) == tensor_digest(torch.zeros(2).clone()) != tensor_digest(torch.zeros(2, 1))
    True
    """
    found = hashlib.sha256(f"{value.dtype} {list(value.shape)}".encode())
    rows = value.detach().reshape(len(value) if value.dim() else 1, -1)
    for start in range(0, len(rows), ROWS):
        part = rows[start : start + ROWS].resolve_conj().cpu().contiguous()
        found.update(part.flatten().view(torch.uint8).numpy().data)
    return found.hexdigest()


def decisive(config: Mapping[str, Any]) -> dict[str, Any]:
    """What decides how a run goes, of all that its config has.

    >>> decisive({"task": "hwf", "recipe": {"seed": 1, "out": "a"}, "before": {}})
    {'task': 'hwf', 'recipe': {'seed': 1}}
    """

    def essential(recipe: Any) -> Any:
        if not isinstance(recipe, Mapping):
            return recipe
        return {name: essential(part) for name, part in recipe.items() if name not in INCIDENTAL}

    # Not what was measured on the way, nor where.
    kept = {name: part for name, part in config.items() if name not in ("before", "place")}
    return kept | ({"recipe": essential(kept["recipe"])} if "recipe" in kept else {})


def config_digest(config: Mapping[str, Any]) -> str:
    """SHA-256 of all in a config that decides how a run goes."""
    return hashlib.sha256(_text(decisive(config))).hexdigest()


class HistoryDigest:
    """SHA-256 of a run's records, their timings aside; it goes on from where it was as the history grows."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self._seen = 0

    def of(self, history: Sequence[Mapping[str, Any]]) -> str:
        """The digest of the whole history, of which earlier calls have seen the beginning."""
        for record in history[self._seen :]:
            self._hash.update(_text({name: value for name, value in record.items() if name != "seconds"}))
        self._seen = len(history)
        return self._hash.hexdigest()


def _text(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode() + b"\n"
