"""The circuit of all formulas of a length in KLay, made by hand: digits and operators in turn, a root for each value.

Literal ``13 · site + symbol + 1`` says which of 1 … 9 + − × ÷ stands at a site. A formula is a *term*, a product of
digits, and a *tail*: nothing, or + or −, another term and another tail. Parts of the same sites and the same value are
one node, so that the 419,904 formulas of length 7, of HWF's 1,435 training answers, take some forty thousand nodes.
Every formula is read in one way and the symbols of a site exclude each other, so that sums of probabilities are exact.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction

import klay

SYMBOLS, DIGITS = 13, 9
PLUS, MINUS, TIMES, OVER = range(DIGITS, SYMBOLS)

Nodes = dict[Fraction, klay.NodePtr]
Ways = Iterator[tuple[Fraction, tuple[klay.NodePtr, ...]]]


class Formulas:
    """The circuit as it grows: ``made`` holds its nodes.

    Parameters
    ----------
    length
        Symbols of a formula, an odd number.
    answers
        The values that get a root, in this order.
    """

    def __init__(self, length: int, answers: list[Fraction]) -> None:
        self.made, self.length = klay.Circuit(), length
        self.terms: dict[tuple[int, int], Nodes] = {}  # by first and last site
        self.tails: dict[int, Nodes] = {}  # by the site of the operator at its beginning
        for first in range(0, length, 2):
            for last in range(first, length, 2):
                self.terms[first, last] = self._nodes([self._products(first, last)])
        for site in range(length - 2, 0, -2):
            self.tails[site] = self._nodes([self._signed(site, last) for last in range(site + 1, length, 2)])
        roots = self._nodes([self._whole(last) for last in range(0, length, 2)], set(answers))
        for answer in answers:
            self.made.set_root(roots[answer])

    def _literal(self, site: int, symbol: int) -> klay.NodePtr:
        return self.made.literal_node(SYMBOLS * site + symbol + 1)

    def _nodes(self, groups: list[Ways], wanted: set[Fraction] | None = None) -> Nodes:
        """One node for each value (that is wanted), the ways to reach it below.

        KLay goes layer by layer and hands on what is done early, node by node; so groups after the first, which is the
        deepest, are joined among themselves before.
        """
        found: dict[Fraction, list[klay.NodePtr]] = defaultdict(list)
        for place, ways in enumerate(groups):
            own: dict[Fraction, list[klay.NodePtr]] = defaultdict(list)
            for value, parts in ways:
                if wanted is None or value in wanted:
                    own[value].append(parts[0] if len(parts) == 1 else self.made.and_node(parts))
            for value, nodes in own.items():
                found[value] += nodes if place == 0 else [self._either(nodes)]
        return {value: self._either(nodes) for value, nodes in found.items()}

    def _either(self, nodes: list[klay.NodePtr]) -> klay.NodePtr:
        return nodes[0] if len(nodes) == 1 else self.made.or_node(nodes)

    def _products(self, first: int, last: int) -> Ways:
        for digit in range(DIGITS):
            number, node = digit + 1, self._literal(last, digit)
            if first == last:
                yield Fraction(number), (node,)
                continue
            times, over = self._literal(last - 1, TIMES), self._literal(last - 1, OVER)
            for value, before in self.terms[first, last - 2].items():
                yield value * number, (before, times, node)
                yield value / number, (before, over, node)

    def _signed(self, site: int, last: int) -> Ways:
        for value, term, parts in self._sums(site + 1, last):
            yield value, (self._literal(site, PLUS), *parts)
            yield value - 2 * term, (self._literal(site, MINUS), *parts)

    def _whole(self, last: int) -> Ways:
        return ((value, parts) for value, _, parts in self._sums(0, last))

    def _sums(self, first: int, last: int) -> Iterator[tuple[Fraction, Fraction, tuple[klay.NodePtr, ...]]]:
        """Value, first term and parts of a term from ``first`` to ``last`` and every tail after it."""
        for term, node in self.terms[first, last].items():
            if last == self.length - 1:
                yield term, term, (node,)
            else:
                for tail, rest in self.tails[last + 1].items():
                    yield term + tail, term, (node, rest)
