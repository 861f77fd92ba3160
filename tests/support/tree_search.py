"""A small one-step back-search on a formula's tree, one formula at a time, as NGS describes it; for comparison only."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from fractions import Fraction
from itertools import count

from torch import Tensor

from softground.tasks.formulas.data.alphabet import DIGITS, OPERATORS, value


@dataclass
class Node:
    """A digit, or an operation on two nodes; ``site`` is the digit's or the operator's place in the formula."""

    site: int
    value: Fraction
    operator: str = ""
    left: Node | None = None
    right: Node | None = None

    def places(self) -> list[int]:
        """Every site below it, and its own."""
        below = [child.places() for child in (self.left, self.right) if child]
        return [self.site, *(site for places in below for site in places)]


def calculate(operator: str, a: Fraction, b: Fraction) -> Fraction:
    return {"+": lambda: a + b, "-": lambda: a - b, "*": lambda: a * b, "/": lambda: a / b}[operator]()


def parse(symbols: tuple[int | str, ...]) -> Node:
    """Operators of equal rank associate to the left."""
    nodes = [Node(site, Fraction(s)) for site, s in enumerate(symbols) if site % 2 == 0]
    operators = [(site, str(s)) for site, s in enumerate(symbols) if site % 2]
    for rank in ("*/", "+-"):
        place = 0
        while place < len(operators):
            site, operator = operators[place]
            if operator not in rank:
                place += 1
                continue
            a, b = nodes[place], nodes.pop(place + 1)
            nodes[place] = Node(site, calculate(operator, a.value, b.value), operator, a, b)
            operators.pop(place)
    return nodes[0]


def wanted(node: Node, target: Fraction) -> list[tuple[Node, Fraction]]:
    """What each child must be for the node to have the value ``target``, the other staying as it is."""
    assert node.left
    assert node.right
    a, b = node.left.value, node.right.value
    match node.operator:
        case "+":
            return [(node.left, target - b), (node.right, target - a)]
        case "-":
            return [(node.left, target + b), (node.right, a - target)]
        case "*":
            return [(node.left, target / b), (node.right, target / a)]  # a term of digits is never 0
    return [(node.left, target * b), *([(node.right, a / target)] if target else [])]


def tree_search(symbols: tuple[int | str, ...], target: Fraction, log_p: Tensor) -> list[tuple[float, int, int]]:
    """Every correction that the top-down search reaches, best first: (−log P(new)/P(old), site, code)."""
    codes = [OPERATORS.index(s) if site % 2 else DIGITS.index(s) for site, s in enumerate(symbols)]
    order = count()

    def bound(node: Node) -> float:
        return float(sum(log_p[i, codes[i]] - log_p[i].max() for i in node.places()))

    def cost(site: int, code: int) -> float:
        return float(log_p[site, codes[site]] - log_p[site, code])

    root = parse(symbols)
    queue: list[tuple[float, int, Node | None, Fraction, int, int]] = [(0.0, next(order), root, target, 0, 0)]
    found = []
    while queue:
        price, _, node, goal, site, code = heapq.heappop(queue)
        if node is None:  # a leaf that has what it needs
            found.append((price, site, code))
        elif not node.left:
            if goal in DIGITS:
                leaf = DIGITS.index(int(goal))
                heapq.heappush(queue, (cost(node.site, leaf), next(order), None, goal, node.site, leaf))
        else:
            for child, need in wanted(node, goal):
                heapq.heappush(queue, (bound(child), next(order), child, need, 0, 0))
            for code, operator in enumerate(OPERATORS):  # may rebuild the tree: evaluate the whole
                if value([*symbols[: node.site], operator, *symbols[node.site + 1 :]]) == target:
                    heapq.heappush(queue, (cost(node.site, code), next(order), None, goal, node.site, code))
    return found
