r"""Fibres over a window of neighbouring symbols, without trying every completion.

A window begins and ends with a digit. With the other symbols fixed, the value of a formula is linear in what the window
contributes to the term that it continues and to the term that goes on after it:

.. math:: \alpha + \tau f(v) + m(v) + \rho\, g(v), \qquad\text{or}\qquad \alpha + \tau\rho\, f(v)

if the window is a single factor, with f its first term, g its last and m what is between. τ is the (signed) term before
the window, ρ the factor after it and α all the rest. f has the window's first digit d as a factor, :math:`f = d^{\pm 1}
\varphi`, so everything but d is gone through, and d follows by division: 1,296 candidates for a window of 5 instead of
11,664, from one product of matrices.

Double precision only discards candidates: whole numbers decide about those that are left (:mod:`.rule`).
"""

from functools import cache

import torch
from torch import Tensor

from ...constraints.program import Program
from ...inverses.base import Fibre
from ...projections.base import Dropped
from .data.alphabet import DIGITS
from .rule import formula_space
from .terms import DIVIDE, MINUS, TIMES

TOLERANCE = 1e-11  # of the largest number on the way: 10⁴ roundings, and more
CERTAIN = 0.4  # an error up to which a digit is told from the next one
TOGETHER, CACHED = 2**24, 2**16  # candidates tried at a time on a GPU, and on a CPU, in whose cache they stay


def is_window(dropped: Dropped) -> bool:
    """Whether every example drops neighbouring sites, at least three, of which the first and the last are digits."""
    first, places = dropped.sites[:, :1], torch.arange(dropped.count, device=dropped.sites.device)
    if dropped.count < 3 or dropped.count % 2 == 0:
        return False
    return bool(((first % 2 == 0) & (dropped.sites == first + places)).all())


def window_fibre(program: Program, z: Tensor, y: Tensor, dropped: Dropped) -> Fibre:
    """F(u) where every example drops a window; it counts as incomplete where doubles cannot tell digits apart."""
    codes, basis = ends(dropped.count, z.device)
    equations, divides, error = _equations(program, z, y, dropped)
    # Where 1/d is wrong by the error, d is by at most d² times as much, and a little more.
    error = error * basis.abs().amax() * torch.where(divides, 100, 1)
    row, option, digit = _near(equations, divides, error, basis)
    order = ((row * len(DIGITS) + digit) * len(codes) + option).argsort()
    row, values = row[order], torch.cat([digit[:, None], codes[option]], 1)[order]
    kept = program.feasible(z[row].scatter(1, dropped.sites[row], values), y[row])
    # What is not kept goes into one more column, so that a GPU is asked for nothing but the largest number.
    seen = kept.long().cumsum(0)
    counts = torch.zeros_like(z[:, 0]).scatter_add(0, row, kept.long())
    most = int(counts.max()) if len(z) else 0
    place = torch.where(kept, seen - 1 - (counts.cumsum(0) - counts)[row], most)
    padded = torch.zeros(len(z), most + 1, dropped.count, dtype=torch.long, device=z.device)
    padded[row, place] = values
    mask = torch.arange(most, device=z.device) < counts[:, None]
    return Fibre(padded[:, :most].masked_fill(~mask[..., None], 0), mask, error <= CERTAIN)


@cache
def ends(length: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """All windows of a length but for their first digit, in lexicographic order: codes ``[options, length − 1]``, and
    ``[4, options]`` with 1/φ where the window is several terms, g/φ, m/φ, and 1/φ where it is a single factor."""
    space = formula_space(length)
    states = space.states(torch.arange(space.size // len(DIGITS), device=device))  # whose first digit is 1
    symbols = [part.double() for part in space.arguments(states)]
    first, middle, term = torch.ones_like(symbols[0]), torch.zeros_like(symbols[0]), torch.ones_like(symbols[0])
    single = torch.ones_like(first, dtype=torch.bool)
    for operator, digit in zip(symbols[1::2], symbols[2::2], strict=True):
        closes = operator < TIMES
        middle = torch.where(closes & ~single, middle + term, middle)
        first = torch.where(closes & single, term, first)
        single = single & ~closes
        grown = torch.where(operator == TIMES, term * digit, term / digit)
        term = torch.where(closes, digit * (1 - 2 * operator), grown)
    several, first = ~single, torch.where(single, term, first)
    return states[:, 1:], torch.stack([several.double(), several * term, middle, single.double()]) / first


def around(symbols: Tensor, start: Tensor, length: int) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """α, τ, ρ, whether the window's first digit divides, and the size of the largest term: ``[rows]`` each.

    ``symbols[rows, sites]`` are digits and operators' codes, ``start[rows]`` the first site of each window, which is
    left out: a term's logarithm is the sum of those of its digits.
    """
    digits, place = symbols[:, 0::2], torch.arange(0, symbols.shape[1], 2, device=symbols.device)
    operators = torch.cat([torch.zeros_like(digits[:, :1]), symbols[:, 1::2]], 1)  # that before each digit
    start = start[:, None]
    inside = (place >= start) & (place < start + length)
    closes = (operators < TIMES) & ((place <= start) | ~inside)
    logs = torch.where(operators == DIVIDE, -1.0, 1.0) * digits.double().log() * ~inside
    term = closes.long().cumsum(1) - 1  # the number of each digit's term
    signs = torch.zeros_like(logs).scatter_add(1, term, (closes * (1 - 2 * (operators == MINUS).long())).double())
    values = signs * torch.zeros_like(logs).scatter_add(1, term, logs).exp()
    own = term.gather(1, start // 2)
    tau = signs.gather(1, own)[:, 0] * (logs * ((term == own) & (place < start))).sum(1).exp()
    rho = (logs * ((term == own) & (place > start))).sum(1).exp()
    divides = operators.gather(1, start // 2)[:, 0] == DIVIDE
    return values.scatter(1, own, 0.0).sum(1), tau, rho, divides, values.abs().amax(1)


def _equations(program: Program, z: Tensor, y: Tensor, dropped: Dropped) -> tuple[Tensor, Tensor, Tensor]:
    """What :func:`ends` is multiplied by, ``[rows, 4]``, whether the first digit divides, and an error per unit."""
    symbols = torch.stack(program.space.arguments(z), 1)
    alpha, tau, rho, divides, largest = around(symbols, dropped.sites[:, 0], dropped.count)
    top, bottom = program.numbers(y).unbind(1)
    answer = top.double() / bottom
    rest = (answer - alpha) / tau
    error = TOLERANCE * (largest + answer.abs() + rho) * (1 + 1 / rho) / tau.abs()
    return torch.stack([rest, -rho / tau, -1 / tau, rest / rho], 1), divides, error


def _near(equations: Tensor, divides: Tensor, error: Tensor, basis: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Rows, options and codes of the first digit, of all candidates that are a digit to within the row's ``error``."""
    size = max(1, (TOGETHER if basis.is_cuda else CACHED) // basis.shape[1])
    found = []
    for start in range(0, len(equations), size):
        own = slice(start, start + size)
        digit = equations[own] @ basis
        digit = torch.where(divides[own, None], digit.reciprocal(), digit)  # which was 1/d there
        whole = digit.round().clamp_(1, len(DIGITS))
        row, option = (digit.sub_(whole).abs_() <= error[own, None]).nonzero(as_tuple=True)
        found.append((row + start, option, whole[row, option].long() - 1))
    row, option, digit = (torch.cat(part) for part in zip(*found, strict=True))
    return row, option, digit
