"""Anchors: a few labelled inputs of single symbols; :mod:`softground.training.labelled_inputs` learns from them."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ..errors import DataError
from ..spaces.base import Space
from ..spaces.categorical import Categorical
from .examples import Examples, as_tensor


@dataclass(frozen=True, eq=False)
class Anchors:
    """Labelled inputs of single symbols.

    Parameters
    ----------
    inputs
        One input per anchor, of the shape that one site has: for images ``[anchors, channels, height, width]``.
    symbols
        The symbol of each input, as in the alphabets.
    weight
        λ, their weight relative to the examples' loss per site.
    batch
        The approximate number drawn for a gradient step, summed over all processes.

    >>> Anchors(torch.zeros(3, 1, 8, 8), [7, 7, 1])
    Anchors(3 of 2 symbols)
    """

    inputs: Tensor
    symbols: Sequence[Hashable]
    weight: float = 1.0
    batch: int = 32

    def __post_init__(self) -> None:
        object.__setattr__(self, "inputs", as_tensor(self.inputs))
        object.__setattr__(self, "symbols", [s.item() if hasattr(s, "item") else s for s in self.symbols])
        if not len(self.inputs) or len(self.inputs) != len(self.symbols):
            given = f"{len(self.inputs)} anchors and {len(self.symbols)} symbols"
            raise DataError(f"{given} were given; expected one or more anchors, with one symbol each.")
        if not 0 < self.weight < math.inf or self.batch < 1:
            raise DataError.of(
                {"weight": self.weight, "batch": self.batch},
                " for anchors; expected a positive weight, and one anchor or more for each step.",
            )
        if not bool(torch.isfinite(self.inputs).all()):
            row = int((~torch.isfinite(self.inputs)).flatten(1).any(1).nonzero()[0])
            raise DataError(f"Anchor {row} holds NaN or infinity; correct it or leave it out.")

    def __len__(self) -> int:
        return len(self.symbols)

    def __repr__(self) -> str:
        return f"Anchors({len(self)} of {len(set(self.symbols))} symbols)"

    def codes(self, space: Space) -> Tensor:
        """Each anchor's code at every site, ``[sites, anchors]``; −1 if the site's alphabet lacks its symbol."""
        if not isinstance(space, Categorical):
            raise DataError(f"Anchors were given for {space!r}, whose components are reals; they need symbols.")
        if lost := [row for row, symbol in enumerate(self.symbols) if symbol not in space.symbols]:
            raise DataError(
                f"Anchors {lost[:8]} show {[self.symbols[row] for row in lost[:8]]!r}, which no site's alphabet has; "
                f"the symbols are {list(space.symbols)!r}."
            )
        places = [{symbol: code for code, symbol in enumerate(alphabet)} for alphabet in space.alphabets]
        return torch.tensor([[place.get(symbol, -1) for symbol in self.symbols] for place in places])

    def fit(self, space: Space, shape: tuple[int, ...], dtype: torch.dtype) -> None:
        """Refuse anchors that do not fit a site of examples with this ``shape`` and ``dtype``."""
        if shape != (space.sites, *self.inputs.shape[1:]):
            raise DataError(
                f"Anchors have shape {tuple(self.inputs.shape[1:])} and examples {shape}; expected {space.sites} sites "
                "of the anchors' shape. Anchors need a network that reads single sites."
            )
        if self.inputs.is_floating_point() != dtype.is_floating_point:
            raise DataError(
                f"Anchors are {self.inputs.dtype} and examples {dtype}; give both the same kind of numbers."
            )

    @classmethod
    def of(
        cls,
        examples: Examples,
        space: Categorical,
        each: int,
        seed: int,
        symbols: Sequence[Hashable] | None = None,
        **given: Any,
    ) -> Anchors:
        """Draw ``each`` labelled inputs per symbol from examples with true symbols, for experiments.

        The ``seed`` determines the draw, of all symbols or of some.
        """
        if each < 1:
            raise DataError.of({"anchors": each}, "expected at least one labelled input per symbol, or 0 for none.")
        if examples.symbols is None:
            raise DataError("Anchors are to be drawn from these examples, and they have no true symbols.")
        wanted, shown = named_symbols(space, symbols or space.symbols), space.decode(examples.symbols)
        order = torch.randperm(len(shown) * space.sites, generator=torch.Generator().manual_seed(seed))
        found: dict[Hashable, list[tuple[int, int]]] = {symbol: [] for symbol in wanted}
        for row, site in (divmod(place, space.sites) for place in order.tolist()):
            if len(found.get(shown[row][site], range(each))) < each:
                found[shown[row][site]].append((row, site))
        if lost := [symbol for symbol in wanted if symbols and not found[symbol]]:
            raise DataError(f"Anchors of {lost!r} were asked for, and no training example shows them; leave them out.")
        places = [place for symbol in wanted for place in found[symbol]]
        rows, sites = (torch.tensor(part) for part in zip(*places, strict=True))
        return cls(examples.x[rows, sites], [shown[row][site] for row, site in places], **given)


def named_symbols(space: Categorical, names: Sequence[Hashable]) -> list[Hashable]:
    """Find symbols of a space, each once, from symbols or their texts.

    >>> from softground.spaces import Categorical
    >>> named_symbols(Categorical([(0, 1, "+")]), ["1", "+"])
    [1, '+']
    """
    known = {str(symbol): symbol for symbol in space.symbols}
    if lost := [name for name in names if str(name) not in known]:
        raise DataError(f"The symbol {lost[0]!r} was given; expected some of {', '.join(known)}.")
    return list(dict.fromkeys(known[str(name)] for name in names))
