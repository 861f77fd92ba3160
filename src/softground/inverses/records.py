"""Records of a rule for saved models, and inverses rebuilt from them without the user's function.

A record has facts, with a ``kind`` of :data:`RECORDED`, and tensors. ``rebuild`` raises ValueError if they are
inconsistent.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial, singledispatch
from typing import Any

import torch
from torch import Tensor

from ..constraints.cnf import Cnf
from ..constraints.exact import exact
from ..constraints.program import NO_ANSWER, Program
from ..constraints.scan import Scan
from ..constraints.scan.long_sums import Totals
from ..constraints.scan.messages import last_width
from ..constraints.scan.tabulate import Tabulation
from ..errors import ConstraintError
from ..registry import Registry
from ..spaces.categorical import Categorical
from .base import Inverse
from .circuit import Circuit
from .circuit.inverse import KEPT, Nodes
from .listing import Listing
from .scanned import Scanned
from .table import Table

ANSWERS = 2**18  # the most answers that a record writes as text
STATES = 2**24  # the most states of a table that a record keeps: 64 MB
CPU = torch.device("cpu")

Facts = Mapping[str, Any]
Tensors = Mapping[str, Tensor]

RECORDED: Registry[Callable[[Categorical, Facts, Tensors], Inverse]] = Registry("kind of rule")
"""Functions that rebuild an inverse with its rule, by the kind of its record."""


@singledispatch
def record(inverse: object) -> tuple[dict[str, Any], dict[str, Tensor]] | None:
    """The record of a rule; None if it cannot be saved."""
    return None


@record.register
def _(inverse: Table) -> tuple[dict[str, Any], dict[str, Tensor]] | None:
    rule, answer = inverse.program, inverse.columns(CPU).answer
    if inverse.space.size > STATES or rule.known > ANSWERS or rule.relation is not None:
        return None
    facts = {"kind": "table", "width": rule.width if rule.vectorised else 0, "form": rule.form}
    if rule.vectorised:
        keys = torch.tensor(rule.answers.keys, dtype=torch.long).reshape(-1, rule.width)
        return facts, {"answer": answer, "keys": keys}
    return facts | {"keys": list(rule.answers.keys)}, {"answer": answer}


@RECORDED.register("table")
def _table(space: Categorical, facts: Facts, tensors: Tensors) -> Table:
    answer, width = tensors["answer"], int(facts["width"])
    keys = [tuple(row) for row in tensors["keys"].tolist()] if width else facts["keys"]
    if answer.shape != (space.size,) or int(answer.min()) < NO_ANSWER or int(answer.max()) >= len(keys):
        raise ValueError("its table does not fit the symbols")
    rule = RecordedProgram(space, lambda z: answer[space.index(z)], keys, width, facts["form"])
    table = Table(rule, limit=Table.bytes_needed(space))
    rule.ids = table.answer_ids  # which has copies on every device
    return table


class RecordedProgram(Program):
    """A program known by the ids of its states' answers, as a saved model keeps it.

    ``keys`` are the answers; ``width`` is the whole numbers in each answer of a vectorised program, 0 for a plain one.
    """

    def __init__(
        self, space: Categorical, ids: Callable[[Tensor], Tensor], keys: Sequence[Hashable], width: int, form: object
    ) -> None:
        super().__init__(_no_function, space)
        self.ids, self.vectorised, self.width, self.form = ids, width > 0, max(width, 1), form
        for key in keys:
            self.answers.number(key)

    def answer_ids(self, z: Tensor, *, remember: bool = True) -> Tensor:
        return self.ids(z).long()

    def _evaluate(self, codes: tuple[int, ...]) -> int:
        return int(self.ids(torch.tensor([codes])))

    def feasible(self, z: Tensor, y: Tensor) -> Tensor:
        return self.explained(self.ids(z).long(), y)

    def admissible(self, z: Tensor) -> Tensor:
        return self.ids(z) != NO_ANSWER


def _no_function(*symbols: Any) -> Any:
    raise ConstraintError("The rule's function was not saved with the model; only its table of answers was.")


@record.register
def _(inverse: Listing) -> tuple[dict[str, Any], dict[str, Tensor]]:
    return {"kind": "listing"}, {"states": inverse.states(CPU).int()}


@RECORDED.register("listing")
def _listing(space: Categorical, facts: Facts, tensors: Tensors) -> Listing:
    listing = Listing(space, tensors["states"].long())
    listing.constraint = RecordedProgram(space, partial(_listed, listing), [1], 0, None)
    return listing


def _listed(listing: Listing, z: Tensor) -> Tensor:
    """A listed state's answer is True, whose id is 0; any other state has none."""
    return listing.feasible(z, torch.zeros_like(z[:, 0])).long() - 1


@record.register
def _(inverse: Scanned) -> tuple[dict[str, Any], dict[str, Tensor]] | None:
    scan, answers = inverse.scan, inverse.scan.answers.keys
    if len(answers) > ANSWERS or not scan.ready:
        return None
    tables = scan.tables(CPU)
    finals = list(scan.tabulation.states[-1]) if scan.computes else []
    facts = {"kind": "scan", "order": scan.order, "answers": list(answers), "computes": scan.computes}
    answered = {"cues": tables.cues[: len(answers)].int(), "accepts": tables.accepts[: len(answers)]}
    if isinstance(tables.layers, Totals):
        return facts | {"finals": finals}, answered | {"values": tables.layers.values}
    layers = {f"layers/{t}": layer.int() for t, layer in enumerate(tables.layers)}
    return facts | {"finals": finals}, answered | layers


@RECORDED.register("scan")
def _scan(space: Categorical, facts: Facts, tensors: Tensors) -> Scanned:
    return Scanned(RecordedScan(space, facts, tensors))


class RecordedScan(Scan):
    """A scan known by its tables, as a saved model keeps it. Where it does not compute, only the answers seen count."""

    def __init__(self, space: Categorical, facts: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> None:
        super().__init__(_not_saved, space, order=facts["order"])
        if "values" in tensors:
            layers: Sequence[Tensor] = _totals(tensors["values"], [space.sizes[site] for site in self.order])
        else:
            layers = [tensors[f"layers/{t}"].long() for t in range(space.sites)]
        widths = [layer.shape[1] - 1 for layer in layers] + [last_width(layers)]
        ends = zip(layers, widths[1:], strict=True)
        if any(int(layer.min()) < 0 or int(layer.max()) > dead for layer, dead in ends):
            raise ValueError("its tables do not fit each other")
        self.computes = bool(facts["computes"])
        finals = facts["finals"] if self.computes else range(widths[-1])
        self._tabulation = Tabulation(layers, [*map(range, widths[:-1]), finals])
        self._numbers = {exact(answer): number for number, answer in enumerate(facts["answers"])}
        self._kept_cues, self._kept_accepts = tensors["cues"].tolist(), tensors["accepts"].tolist()
        if not self.computes:
            self.accept = self._kept_accept
        self.encode(facts["answers"])

    def _kept_accept(self, state: int, answer: Hashable) -> bool:
        return bool(self._kept_accepts[self._numbers[answer]][state])

    def _show(self, answer: Hashable) -> list[int]:
        if not self.computes and answer not in self._numbers:
            raise ConstraintError(
                f"The answer {answer!r} was not seen before the model was saved, and its rule was saved for the "
                "answers seen. Give the rule itself: softground.load(path, task=…)."
            )
        return super()._show(answer) if self.computes else list(self._kept_cues[self._numbers[answer]])


def _totals(values: Tensor, sizes: list[int]) -> Totals:
    """The layers of a running sum, if the saved values fit the space."""
    if values.shape != (len(sizes), max(sizes)) or int(values.min()) < 0:
        raise ValueError("its values do not fit the space")
    return Totals(values.long(), sizes)


def _not_saved(state: object, symbol: object) -> Any:
    raise ConstraintError("The scan's step was not saved with the model; only its tables were.")


PARTS = ("arity", "place", "elements")


@record.register
def _(inverse: Circuit) -> tuple[dict[str, Any], dict[str, Tensor]]:
    kept = {name: inverse.levels[code].nodes for name, code in KEPT.items()}
    facts = {"kind": "circuit", "clauses": [list(clause) for clause in inverse.constraint.clauses]}
    tensors = {f"{name}/{part}": getattr(n, part) for name, n in kept.items() for part in PARTS}
    return facts | {name: nodes.root for name, nodes in kept.items()}, tensors


@RECORDED.register("circuit")
def _circuit(space: Categorical, facts: Facts, tensors: Tensors) -> Circuit:
    sites, parts = space.sites, []
    for name in KEPT:
        arity, place, elements = (tensors[f"{name}/{part}"] for part in PARTS)
        root, last = int(facts[name]), 2 * sites + 2 + len(arity)
        below = torch.arange(2 * sites + 2, last).repeat_interleave(arity)
        whole = elements.shape == (len(below), 2) and place.shape == arity.shape and 0 <= root < last
        if not whole or bool((elements >= below[:, None]).any()) or bool((elements < 0).any()):
            raise ValueError("its circuit does not fit together")
        parts.append(Nodes(sites, arity, place, elements, root))
    inverse = Circuit.__new__(Circuit)
    inverse.made(Cnf([tuple(clause) for clause in facts["clauses"]], space), (parts[0], parts[1]))
    return inverse
