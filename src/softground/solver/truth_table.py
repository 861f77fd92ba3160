"""Truth tables: on which combinations of a few sites do Z3 formulas hold? Where these are few no search is needed.

Z3 prints a formula line by line, one for each of its parts. Formulas that a rule gives for different queries mostly
differ in their numbers alone. So a text without its numbers is read once, as :mod:`~softground.constraints.steps`, and
queries that share it are evaluated together, each with its own numbers, on all combinations of the dropped sites.

What is not made of whole numbers, or might pass 64 bits, is left to Z3's search: real numbers, constants and functions
of the rule's own, a divisor that is no number.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import torch

from ..constraints.answers import remember_in
from ..constraints.smt import Terms, load_z3
from ..constraints.steps import SIZES, WIDEST, Step, run
from .engine import Codes

Numbers = tuple[int, ...]
TOKEN = re.compile(r"#(\d+)|(?<![^ (])(-?\d+)(?![^ )\n])")
LINE = re.compile(r"(?:#\d+ := )?(?:\((\S+) (.*)\)|(\S+))")
SHAPES_KEPT = 2**12
NAMES = {"and": "and", "or": "or", "not": "not", "if": "if", "+": "sum", "*": "mul", "distinct": "alldifferent"}
OF_TWO = {"=": "==", "<": "<", "<=": "<=", ">": ">", ">=": ">=", "=>": "->", "xor": "!=", "-": "sub"}
OF_TWO |= {"div": "z3 div", "mod": "z3 mod"}  # by a number, which is not 0


class TruthTable:
    """Where formulas over some sites hold."""

    def __init__(self, terms: Terms) -> None:
        self.z3, self.context = load_z3(), load_z3().main_ctx()
        self.sites = {str(variable): site for site, variable in enumerate(terms.variables)}
        self.symbols = [torch.tensor(symbols) for symbols in terms.symbols]
        self.largest = [max(map(abs, symbols)) for symbols in terms.symbols]
        self._steps: dict[str, list[Step] | None] = {}  # None: for Z3

    def solve(self, expressions: Sequence[object], sites: tuple[int, ...]) -> list[list[Codes] | None]:
        """The combinations that make each expression true, in order; None where they were not evaluated."""
        found: list[list[Codes] | None] = [None] * len(expressions)
        alike: dict[str, list[tuple[int, Numbers]]] = {}
        for place, (expression, text) in enumerate(zip(expressions, self._printed(expressions), strict=True)):
            shape, numbers = shaped(text)
            if shape not in self._steps:
                remember_in(self._steps, shape, self._read(expression, shape), SHAPES_KEPT)
            steps = self._steps[shape]
            if steps is not None and self._fits(steps, numbers):
                alike.setdefault(shape, []).append((place, numbers))
        for shape, members in alike.items():
            columns: list[Any] = [None] * len(self.symbols)
            for axis, site in enumerate(sites):
                columns[site] = self.symbols[site].view([-1 if each == axis else 1 for each in range(len(sites))])
            constants = torch.tensor([numbers for _, numbers in members]).view(len(members), *[1] * len(sites), -1)
            truth = run(self._steps[shape] or [], columns, constants)
            truth = truth.expand(len(members), *(len(self.symbols[site]) for site in sites))
            for (place, _), row in zip(members, truth, strict=True):
                found[place] = list(map(tuple, row.nonzero().tolist()))
        return found

    def _printed(self, expressions: Sequence[Any]) -> list[str]:
        z3, c = self.z3, self.context.ref()
        z3.Z3_set_ast_print_mode(c, z3.Z3_PRINT_LOW_LEVEL)
        try:
            return [z3.Z3_ast_to_string(c, expression.ast) for expression in expressions]
        finally:
            z3.Z3_set_ast_print_mode(c, z3.Z3_PRINT_SMTLIB2_COMPLIANT)

    def _read(self, expression: object, shape: str) -> list[Step] | None:
        """The steps of a shape, if all are known and nothing in the expression has a meaning of the rule's own."""
        if not self._plain(expression):
            return None
        steps: dict[Step, int] = {}
        lines: list[int] = []  # the place of each line's step
        numbers = 0

        def place(*step: Any) -> int:
            return steps.setdefault(step, len(steps))

        for line in shape.splitlines():
            name, given, alone = LINE.fullmatch(line).groups()  # type: ignore[union-attr]
            arguments = []
            for word in [alone] if alone else given.split():
                if word == "?":
                    arguments.append(place("constant", False, (), numbers))
                    numbers += 1
                elif word.startswith("#"):
                    arguments.append(lines[int(word[1:])])
                elif word in self.sites:
                    arguments.append(place("site", False, (), self.sites[word]))
                elif word in ("true", "false"):
                    true = place("and", True, ())
                    arguments.append(true if word == "true" else place("not", True, (true,)))
                else:
                    return None
            known = OF_TWO.get(name) if len(arguments) == 2 else "-" if name == "-" else None
            operation = known or NAMES.get(name)
            if name is not None and operation is None:
                return None
            if name in ("div", "mod") and list(steps)[arguments[1]][0] != "constant":
                return None
            lines.append(arguments[0] if operation is None else place(operation, False, tuple(arguments)))
        place("or", False, (lines[-1],))  # which is the last step, whatever came before
        return list(steps)

    def _plain(self, expression: Any) -> bool:
        """Whether all constants and functions of the user's are sites."""
        seen, left = set(), [expression]
        while left:
            if not self.z3.is_app(each := left.pop()):
                return False
            if each.get_id() not in seen:
                seen.add(each.get_id())
                left += each.children()
                own = each.decl().kind() == self.z3.Z3_OP_UNINTERPRETED
                if own and (each.num_args() or str(each) not in self.sites):
                    return False
        return True

    def _fits(self, steps: Sequence[Step], numbers: Numbers) -> bool:
        """Whether no value passes 64 bits and nothing is divided by zero."""
        sizes: list[int] = []
        for name, _, arguments, *more in steps:
            if name == "site":
                size = self.largest[more[0]]
            elif name == "constant":
                size = abs(numbers[more[0]])
            else:
                size = SIZES[name]([sizes[place] for place in arguments]) if name in SIZES else 1
            if size > WIDEST or (name.startswith("z3") and not sizes[arguments[1]]):
                return False
            sizes.append(size)
        return True


def shaped(text: str) -> tuple[str, Numbers]:
    """A printed formula with its steps counted from 0 and its numbers taken out.

    >>> shaped("#7 := (* x -3)\\n(= #7 12)\\n")
    ('#0 := (* x ?)\\n(= #0 ?)\\n', (-3, 12))
    """
    numbers: list[int] = []
    places: dict[str, int] = {}

    def replace(found: re.Match[str]) -> str:
        if found[1] is not None:
            return f"#{places.setdefault(found[1], len(places))}"
        numbers.append(int(found[2]))
        return "?"

    return TOKEN.sub(replace, text), tuple(numbers)
