"""A rule by what it did, for a model that lives on without the user's function.

A table keeps the answer of every state, a listing its states, a scan its tables. From these the same inverse is built
again. Of a scan that looks at cues or accepts final states in a way of its own, only the answers seen are known. What
any other inverse does (Z3's, or one of the user's) cannot be kept.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, singledispatch
from typing import Any

import torch
from torch import Tensor

from ..constraints.answers import exact
from ..constraints.program import NO_ANSWER, Program
from ..constraints.scan import Scan
from ..errors import ConstraintError
from ..registry import Registry
from ..spaces.categorical import Categorical
from .base import Inverse
from .listing import Listing
from .scanned import Scanned
from .table import Table

Record = tuple[dict[str, Any], dict[str, Tensor]]

ANSWERS_LIMIT = 2**18  # answers that are written as text
TABLE_LIMIT = 2**24  # states of a table: 64 MB

REBUILD: Registry[Callable[[Categorical, Mapping[str, Any], Mapping[str, Tensor]], tuple[Any, Inverse]]] = Registry(
    "kind of rule"
)
"""From a record's kind to what builds the constraint and the inverse again."""


@singledispatch
def record(inverse: Any) -> Record | None:
    """What to keep of a rule: facts and tensors; None where it cannot be kept."""
    return None


class Recorded(Program):
    """A program known by the ids of its states' answers; ``width`` is 0 for a plain one."""

    def __init__(
        self, space: Categorical, ids: Callable[[Tensor], Tensor], keys: Sequence[Hashable], width: int
    ) -> None:
        super().__init__(_lost, space)
        self.ids, self.vectorised, self._width = ids, width > 0, max(width, 1)
        for key in keys:
            self._intern(key)

    def answer_ids(self, z: Tensor, *, remember: bool = True) -> Tensor:
        """The id of each state's answer; −1 where it has none."""
        return self.ids(z)

    def feasible(self, z: Tensor, y: Tensor) -> Tensor:
        return self.answer_ids(z) == y

    def admissible(self, z: Tensor) -> Tensor:
        return self.answer_ids(z) != NO_ANSWER


def _lost(*symbols: Any) -> Any:
    raise ConstraintError("The rule's function was not saved with the model; only its table of answers was.")


@record.register
def _(inverse: Table) -> Record | None:
    rule, answer = inverse.program, inverse.columns(torch.device("cpu")).answer
    if inverse.space.size > TABLE_LIMIT or rule.known > ANSWERS_LIMIT:
        return None
    facts: dict[str, Any] = {"kind": "table", "width": rule._width if rule.vectorised else 0}
    facts["form"], keys = rule._form, list(rule._keys)
    if rule.vectorised:
        return facts, {"answer": answer, "keys": torch.tensor(keys, dtype=torch.long).reshape(-1, rule._width)}
    return facts | {"keys": keys}, {"answer": answer}


@REBUILD.register("table")
def _(space: Categorical, facts: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> tuple[Any, Inverse]:
    answer, width = tensors["answer"], int(facts["width"])
    keys = [tuple(row) for row in tensors["keys"].tolist()] if width else facts["keys"]
    if answer.shape != (space.size,) or int(answer.min()) < NO_ANSWER or int(answer.max()) >= len(keys):
        raise ValueError("its table does not fit the symbols")
    rule = Recorded(space, lambda z: answer[space.index(z)], keys, width)
    rule._form = facts["form"]  # answers are shown as they were given
    table = Table(rule, limit=Table.bytes_needed(space))
    rule.ids = partial(_looked_up, table)  # the table has copies on every device
    return rule, table


def _looked_up(table: Table, z: Tensor) -> Tensor:
    return table.columns(z.device).answer[table.space.index(z)].long()


@record.register
def _(inverse: Listing) -> Record | None:
    return {"kind": "listing"}, {"states": inverse.states(torch.device("cpu")).int()}


@REBUILD.register("listing")
def _(space: Categorical, facts: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> tuple[Any, Inverse]:
    listing = Listing(space, tensors["states"].long())
    return Recorded(space, partial(_listed, listing), [1], 0), listing


def _listed(listing: Listing, z: Tensor) -> Tensor:
    """A listed state's answer is True, whose id is 0; any other has none."""
    return listing.feasible(z, z[:, 0]).long() - 1


@record.register
def _(inverse: Scanned) -> Record | None:
    scan = inverse.scan
    if len(scan._answers) > ANSWERS_LIMIT or (scan.cue is not None and not scan._answers):
        return None
    tables = scan.tables(torch.device("cpu"))
    facts = {
        "kind": "scan",
        "order": scan.order,
        "answers": list(scan._answers),
        "computes": scan.computes,
        "vectorised": scan.vectorised or not scan.computes,
        "finals": list(scan.tabulation.states[-1]) if scan.computes else [],
    }
    layers = {f"layers/{t}": layer.int() for t, layer in enumerate(tables.layers)}
    return facts, layers | {"cues": tables.cues.int(), "accepts": tables.accepts}


@dataclass(frozen=True, eq=False)
class _Tables:
    """A scan's tables as functions. States are numbers; the last ones are answers where the scan computes these."""

    space: Categorical
    facts: Mapping[str, Any]
    layers: list[Tensor]
    dead: list[int]
    place: dict[int, int]
    known: dict[Hashable, int]
    cues: list[list[int]]
    accepts: list[list[bool]]

    def step(self, state: Any, symbol: Any, site: int) -> Any:
        return self.cued_step(state, symbol, site, 0)

    def cued_step(self, state: Any, symbol: Any, site: int, cue: Any) -> Any:
        t, alphabet, finals = self.place[site], self.space.alphabets[site], self.facts["finals"]
        ends = bool(finals) and t + 1 == len(self.layers)
        if not self.facts["vectorised"]:
            after = int(self.layers[t][cue, state, alphabet.index(symbol)])
            return None if after == self.dead[t] else finals[after] if ends else after
        reached = self.layers[t][cue, state, _codes(alphabet, symbol)]
        value = torch.tensor([*finals, -1])[reached] if ends else reached
        return torch.where(reached == self.dead[t], -1, value)

    def cue(self, answer: Hashable, site: int) -> int:
        return self.cues[self._number(answer)][self.place[site]]

    def accept(self, state: int, answer: Hashable) -> bool:
        return self.accepts[self._number(answer)][state]

    def _number(self, answer: Hashable) -> int:
        if answer not in self.known:
            raise ConstraintError(
                f"The answer {answer!r} was not seen before the model was saved, and its rule was saved for the "
                "answers seen. Give the rule itself: softground.load(path, task=…)."
            )
        return self.known[answer]


@REBUILD.register("scan")
def _(space: Categorical, facts: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> tuple[Any, Inverse]:
    layers = [tensors[f"layers/{t}"].long() for t in range(space.sites)]
    dead = [layer.shape[1] - 1 for layer in layers[1:]] + [int(layers[-1][0, -1, 0])]
    if any(int(layer.min()) < 0 or int(layer.max()) > end for layer, end in zip(layers, dead, strict=True)):
        raise ValueError("its tables do not fit each other")
    place = {site: t for t, site in enumerate(facts["order"])}
    known = {exact(answer): number for number, answer in enumerate(facts["answers"])}
    cues, accepts = tensors["cues"].tolist(), tensors["accepts"].tolist()
    tables = _Tables(space, facts, layers, dead, place, known, cues, accepts)
    usual: dict[str, Any] = {"order": facts["order"], "vectorised": facts["vectorised"]}
    if facts["computes"]:
        scan = Scan(tables.step, space, **usual)
    else:
        scan = Scan(tables.cued_step, space, cue=tables.cue, accept=tables.accept, **usual)
    scan.encode(facts["answers"])
    return scan, Scanned(scan)


def _codes(alphabet: Sequence[Hashable], symbol: Tensor) -> Tensor:
    """The codes of what a vectorised step is given: symbols where all are ints, else codes."""
    if not all(type(s) is int for s in alphabet):
        return symbol
    values, codes = torch.tensor(alphabet).sort()
    return codes[torch.searchsorted(values, symbol)]
