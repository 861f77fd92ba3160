r"""Sums over S_y in one pass over the sites.

With β_n(s) = 1 where y accepts s and 0 elsewhere,

.. math:: \beta_t(s) = \sum_k w_t(k)\, \beta_{t+1}(\text{step}(s, k)), \qquad
          \sum_{z \in S_y} w(z) = \beta_0(\text{start}) .

Drawing symbols from first to last with weights :math:`w_t(k)\,\beta_{t+1}(\text{step}(s_t, k))` gives exact draws from
Q* (backward filtering, forward sampling), and taking the best instead of a draw the most probable z (Viterbi).
Everything is kept as logarithms, with a large negative number in place of −∞, so that gradients stay finite. On a CPU
the sum alone is four times as fast without them: see :func:`total`.

References: L. E. Baum et al., Ann. Math. Statist. 41 (1970); S. L. Scott, J. Amer. Statist. Assoc. 97 (2002).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ...dice import Dice

# Stands for log 0. A sum of thousands of them is still finite, and none is ever mistaken for a real score.
LOG_ZERO = -1e30
# Doubles go down to 1e-308. What is lost below that cannot be seen in a sum that is larger than this.
LEAST = 1e-250
CACHED = 2**17  # doubles that stay in a CPU's cache
DOUBLES = 2**27  # of messages that are kept for rows which are looked at together
SHARE = 16  # of a GPU's memory, what they may take


def room(device: torch.device) -> int:
    """How many doubles may be kept for the rows that are looked at together; many small parts make a GPU wait."""
    if device.type != "cuda":
        return DOUBLES
    return max(DOUBLES, torch.cuda.get_device_properties(device).total_memory // (8 * SHARE))


def suffix(
    layers: Sequence[Tensor],
    cues: Tensor,
    accepts: Tensor,
    scores: Tensor,
    add: Callable[[Tensor], Tensor] = lambda scores: scores.logsumexp(-1),
) -> list[Tensor]:
    """log β_t(s) for t = 0 … n, each ``[batch, states + 1]``.

    ``cues[batch, n]`` and ``accepts[batch, states + 1]`` belong to the answers, ``scores[batch, n, K]`` are log w in
    reading order; ``add`` may be a maximum instead of a sum.
    """
    batch, beta = len(scores), torch.where(accepts, 0.0, LOG_ZERO).to(scores.dtype)
    found = [beta]
    for t in reversed(range(len(layers))):
        layer, (_, states, symbols) = layers[t], layers[t].shape
        into = layer.expand(batch, -1, -1) if len(layer) == 1 else layer[cues[:, t]]
        ahead = beta.gather(1, into.flatten(1)).view(batch, states, symbols)
        beta = add((scores[:, t, None, :symbols] + ahead).clamp(min=LOG_ZERO))
        found.append(beta)
    return found[::-1]


def log_sum(scores: Tensor) -> Tensor:
    """log Σ exp over the last dimension of finite scores; without a tape in one kernel instead of nine."""
    if torch.is_grad_enabled() and scores.requires_grad:
        return scores.logsumexp(-1)
    if scores.is_cuda:
        return scores.logcumsumexp(-1)[..., -1]
    top = scores.amax(-1, keepdim=True)
    return (scores - top).exp_().sum(-1).log_().add_(top.squeeze(-1))


def total(layers: Sequence[Tensor], accepts: Tensor, scores: Tensor) -> Tensor:
    """log β_0(start) by plain products and sums, ``[batch]``, for a scan without cues; where it is too small, by logs.

    Every site's weights are divided by their sum, which is put back at the end, so that no β is larger than 1.
    """
    norm = scores.logsumexp(-1).detach()
    weights = (scores - norm[..., None]).exp().permute(1, 2, 0).contiguous()  # [n, K, batch]: rows of equal symbols
    beta = accepts.T.to(scores.dtype)
    for layer, weight in zip(reversed(layers), weights.flip(0), strict=True):
        _, states, symbols = layer.shape
        ahead = beta.index_select(0, layer.flatten()).view(states, symbols, -1)
        beta = (ahead * weight[:symbols]).sum(1)
    small = beta[0] < LEAST
    found = torch.where(small, 1.0, beta[0]).log() + norm.sum(1)
    rows = small.nonzero().flatten()
    if not len(rows):
        return found
    cues = torch.zeros(len(rows), len(layers), dtype=torch.long, device=scores.device)
    return found.index_copy(0, rows, suffix(layers, cues, accepts[rows], scores[rows])[0][:, 0])


def draw(layers: Sequence[Tensor], cues: Tensor, beta: list[Tensor], scores: Tensor, dice: Dice | None) -> Tensor:
    """Symbols in reading order ``[batch, n]``, drawn from Q*, or each the best where no dice are given."""
    state = torch.zeros(len(scores), dtype=torch.long, device=scores.device)
    drawn = []
    for t, layer in enumerate(layers):
        into = layer[cues[:, t], state]
        weights = scores[:, t, : layer.shape[2]] + beta[t + 1].gather(1, into)
        symbol = weights.argmax(-1) if dice is None else dice.categorical(weights)
        state = into.gather(1, symbol[:, None]).squeeze(1)
        drawn.append(symbol)
    return torch.stack(drawn, 1)


def likeliest(layers: Sequence[Tensor], cues: Tensor, accepts: Tensor, scores: Tensor) -> Tensor:
    """The most probable z of each example, ``[batch, n]`` in reading order."""
    return draw(layers, cues, suffix(layers, cues, accepts, scores, lambda s: s.amax(-1)), scores, None)


def possible_states(layers: Sequence[Tensor], z: Tensor) -> Tensor:
    """Which final states z can lead to with some cue at every site: ``[batch, states + 1]`` bool."""
    alive = torch.zeros(len(z), layers[0].shape[1], device=z.device)
    alive[:, 0] = 1
    widths = [layer.shape[1] for layer in layers[1:]] + [last_width(layers) + 1]
    for t, (layer, width) in enumerate(zip(layers, widths, strict=True)):
        into = layer.permute(2, 1, 0)[z[:, t]].flatten(1)  # [batch, (states + 1) · cues]
        reached = torch.zeros(len(z), width, device=z.device)
        alive = reached.scatter_add(1, into, alive.repeat_interleave(layer.shape[0], 1)).clamp(max=1)
    return alive > 0


def last_width(layers: Sequence[Tensor]) -> int:
    """The number of states after the last symbol: dead, which leads to itself, comes after them."""
    return int(layers[-1][0, -1, 0])


@dataclass(frozen=True, eq=False)
class OneByOne:
    """The recursion site by site: the least work, n rounds."""

    layers: Sequence[Tensor]

    def shown(self, cues: Tensor, accepts: Tensor) -> tuple[Tensor, Tensor]:
        """The answers' cues and accepted states, as they are."""
        return cues, accepts

    def log_partition(self, cues: Tensor, accepts: Tensor, scores: Tensor) -> Tensor:
        """log Σ w(z) over S_y, ``[batch]``."""
        if not self._plain(scores):
            return suffix(self.layers, cues, accepts, scores)[0][:, 0]  # no device is asked what is too small
        rows = max(1, CACHED // max(layer[0].numel() for layer in self.layers))
        parts = zip(torch.split(accepts, rows), torch.split(scores, rows), strict=True)
        return torch.cat([total(self.layers, *part) for part in parts])

    def sample(self, cues: Tensor, accepts: Tensor, scores: Tensor, dice: Dice) -> Tensor:
        """Draws from Q*, ``[batch, n]`` in reading order."""
        return draw(self.layers, cues, suffix(self.layers, cues, accepts, scores), scores, dice)

    def _plain(self, scores: Tensor) -> bool:
        """Whether :func:`total` does."""
        return scores.device.type == "cpu" and all(len(layer) == 1 for layer in self.layers)

    def final_state(self, cues: Tensor, z: Tensor) -> Tensor:
        """Where reading z ends, ``[batch]``."""
        state = torch.zeros(len(z), dtype=torch.long, device=z.device)
        for t, layer in enumerate(self.layers):
            state = layer[cues[:, t], state, z[:, t]]
        return state
