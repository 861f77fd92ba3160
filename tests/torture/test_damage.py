"""The trial of damaged checkpoints notices when a protection is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from softground.runs import RunFolder, checkpoint
from torture.trial import Tally
from torture.trials import damage

CASES = 100


def failures(folder: Path) -> str:
    """What the trial complains about."""
    tally = Tally()
    damage.run(tally, CASES, 0, folder)
    assert tally.tried == CASES
    assert tally.survived < CASES
    return "\n".join(tally.failures)


def test_without_digests_wrong_states_are_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "digest", lambda data: "0" * 64)
    assert "what was loaded is not what was saved" in failures(tmp_path)


def test_without_a_digest_of_the_settings_they_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RunFolder, "config_digest", lambda self: "always the same")
    assert "the settings are others" in failures(tmp_path)
