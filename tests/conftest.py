"""What all tests share."""

import pytest


@pytest.fixture(autouse=True)
def no_lists_in_the_users_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lists of solutions are kept only where a test says so."""
    monkeypatch.setenv("SOFTGROUND_CACHE", "off")
