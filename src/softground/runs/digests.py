"""Digests of what a run needs beside its checkpoint, kept in the checkpoint, which has a digest of its own.

A flipped bit in ``config.json`` could give a resumed run another learning rate, one in ``metrics.jsonl`` another past,
and both would still be valid JSON.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

# Where things are, how they are shown and what was measured on the way decide nothing: a run may move, and be quiet.
INCIDENTAL = frozenset({"before", "schema"})
INCIDENTAL_OPTIONS = frozenset({"out", "data_dir", "quiet", "json", "tensorboard"})


def settings_digest(config: Mapping[str, Any]) -> str:
    """SHA-256 of all in a config that decides how a run goes.

    >>> one = {"task": "hwf", "options": {"seed": 1, "out": "a"}}
    >>> other = {"options": {"out": "b", "seed": 1}, "task": "hwf", "before": {}}
    >>> settings_digest(one) == settings_digest(other) != settings_digest(one | {"options": {"seed": 2}})
    True
    """
    decisive = {name: value for name, value in config.items() if name not in INCIDENTAL}
    if isinstance(options := decisive.get("options"), dict):
        decisive["options"] = {name: value for name, value in options.items() if name not in INCIDENTAL_OPTIONS}
    return hashlib.sha256(_text(decisive)).hexdigest()


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


__all__ = ["HistoryDigest", "settings_digest"]
