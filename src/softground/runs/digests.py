"""Digests: of a tensor, of a run's records, of what its config decides.

A flipped bit in ``config.json`` could give a resumed run another learning rate, one in ``metrics.jsonl`` another past,
and both would still be valid JSON. So a checkpoint, which has a digest of its own, keeps digests of both.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

ROWS = 2**12  # of a tensor, digested at a time: a GPU's need not fit into the memory twice


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


def config_digest(config: Mapping[str, Any]) -> str:
    """SHA-256 of what decides how a run goes: not of what was measured on the way, nor of where."""
    return _digest(config, leaving_out=("before", "place", "chosen"))


def history_digest(before: str, record: Mapping[str, Any]) -> str:
    """SHA-256 of a history that goes on with ``record``, its timings aside; ``before`` is the digest up to there."""
    return _digest(record, ("seconds",), before)


def _digest(value: Mapping[str, Any], leaving_out: tuple[str, ...], before: str = "") -> str:
    kept = {name: part for name, part in value.items() if name not in leaving_out}
    return hashlib.sha256((before + json.dumps(kept, sort_keys=True)).encode()).hexdigest()
