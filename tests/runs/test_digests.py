"""The digest of a config: another for any change."""

from __future__ import annotations

import pytest

from softground.runs.folder import config_digest, history_digest


@pytest.mark.parametrize("other", [2e-7, 1e-7 * (1 + 2**-52), 0.0, -1e-7])
def test_the_smallest_difference_of_numbers_counts(other: float) -> None:
    def config(rate: float) -> dict[str, object]:
        return {"recipe": {"rate": rate}, "settings": {"stages": [{"lr": [1.0, rate]}]}}

    assert config_digest(config(1e-7)) == config_digest(config(1e-7)) != config_digest(config(other))
    assert history_digest("", {"loss": 1e-7}) != history_digest("", {"loss": other})
