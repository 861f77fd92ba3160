"""Laws of rules drawn at random against enumeration; ``python tests/support/law_cases.py 5000`` tries more."""

import pytest

from law_cases import differs


@pytest.mark.parametrize("first", range(0, 120, 20))
def test_laws_agree_with_enumeration(first: int) -> None:
    assert [said for seed in range(first, first + 20) if (said := differs(seed))] == []
