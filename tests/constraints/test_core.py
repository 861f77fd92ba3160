"""The most probable z of a long sum, found in a core of its sites, against the recursion over all of them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from softground.constraints.scan import long_sums
from softground.constraints.scan.long_sums import Totals, likeliest_sum
from softground.constraints.scan.messages import LOG_ZERO, likeliest

SCORES: dict[str, Callable[[Tensor], Tensor]] = {
    "all alike": lambda noise: 0 * noise,
    "unsure": lambda noise: 0.1 * noise,
    "sure": lambda noise: 20 * noise,
    "recurring": lambda noise: noise[:, [0, 1, 2]].repeat(1, noise.shape[1] // 3, 1),
    "one value for another": lambda noise: noise.round(),
    "impossible": lambda noise: torch.where(noise > 1.0, LOG_ZERO, noise),
}


def worth(scores: Tensor, z: Tensor) -> Tensor:
    return scores.gather(2, z[..., None]).sum((1, 2))


@pytest.mark.parametrize("kind", SCORES)
@pytest.mark.parametrize("core", [1, 8])
def test_the_best_in_a_core_is_the_best_of_all_sites(core: int, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Values differ from site to site, symbols share values, and answers may accept one total, several or none."""
    monkeypatch.setattr(long_sums, "CORE", core)
    values = torch.tensor([[0, 1, 2, 3, 4], [0, 3, 3, 7, 0], [4, 0, 1, 1, 9]]).repeat(8, 1)
    layers = Totals(values, [5, 4, 5] * 8)
    generator = torch.Generator().manual_seed(core)
    scores = SCORES[kind](torch.randn(60, 24, 5, generator=generator, dtype=torch.float64))
    scores[:, 1::3, 4] = LOG_ZERO  # no symbol
    last, cues = layers.reach[-1], torch.zeros(60, 24, dtype=torch.long)
    accepts = torch.arange(last + 2) == torch.randint(last + 1, (60, 1), generator=generator)
    accepts[40:] |= torch.rand(20, last + 2, generator=generator) < 0.1
    accepts[-1] = False
    accepts[:, -1] = False
    found, expected = likeliest_sum(layers, cues, accepts, scores), likeliest(layers, cues, accepts, scores)
    assert torch.allclose(worth(scores, found)[:-1], worth(scores, expected)[:-1], rtol=1e-12, atol=1e-12)
    right = [accepts.gather(1, values.expand(60, -1, -1).gather(2, z[..., None]).sum(1)) for z in (found, expected)]
    possible = worth(scores, expected) > LOG_ZERO / 2
    assert torch.equal(right[0][possible], right[1][possible])
    assert int(possible.sum()) > 40


def test_a_small_core_is_enough_for_a_long_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    """However sure the network is: all sites are looked at in no row."""
    sites, generator = 500, torch.Generator().manual_seed(0)
    truth = torch.randint(10, (4, sites), generator=generator)
    layers, cues = Totals(torch.arange(10).expand(sites, -1), [10] * sites), torch.zeros(4, sites, dtype=torch.long)
    accepts, sizes = torch.arange(9 * sites + 2) == truth.sum(1, keepdim=True), list[int]()
    noise = torch.randn(4, sites, 10, generator=generator, dtype=torch.float64)

    def noted(given: Totals, *rest: Tensor) -> Tensor:
        sizes.append(len(given))
        return likeliest(given, *rest)

    monkeypatch.setattr(long_sums, "likeliest", noted)
    for sure in (0, 1, 8, 40):
        scores = (sure * torch.nn.functional.one_hot(truth, 10) + max(1, sure / 4) * noise).log_softmax(-1)
        z = likeliest_sum(layers, cues, accepts, scores)
        assert torch.equal(z.sum(1), truth.sum(1))
        best = worth(scores, likeliest(layers, cues, accepts, scores))
        assert torch.allclose(worth(scores, z), best, rtol=1e-12)
    assert max(sizes) <= 64
