"""The inverse of a scan: batches of no examples."""

from __future__ import annotations

import operator

import pytest
import torch

from softground import Categorical, Sampler, Scan, Target
from softground.constraints.scan import totals
from softground.inverses import Scanned


@pytest.mark.parametrize("kind", ["tree", "site by site", "long sum"])
def test_a_batch_may_have_no_examples(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(totals, "LARGE", 0 if kind == "long sum" else totals.LARGE)
    space = Categorical([range(3)] * (9 if kind == "site by site" else 3))
    scan = Scan(operator.add, space)
    y = scan.encode([2])[:0]
    law = Scanned(scan).law(Target(space.belief(torch.zeros(0, space.sites, 3)), y, 1.0))
    assert law.log_mass().shape == (0,)
    assert law.mode().shape == law.draw(Sampler(0)).shape == (0, space.sites)
    assert law.marginals().shape == (0, space.sites, 3)
