r"""The loss of a rule as a PyTorch module, for your own training loop.

For a row with the answer y and known symbols k it is, in nats per example,

.. math:: \ell = - \log P_\theta(y, k|x) \quad (\gamma = 1), \qquad
          \ell = - \sum_{z \in S_y} Q^*(z) \log P_\theta(z|x) \quad \text{otherwise},

with :math:`Q^*(z) \propto (P_\theta(z|x) / u(z)^c)^{1/\gamma}` held fixed. Both have the same slope at γ = 1 and c = 0;
u is the network's own usage of the symbols (:mod:`softground.training.scaled`).
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import torch
from torch import Tensor, distributed, nn

from ..data.columns import picked
from ..dice import Sampler
from ..errors import DataError, LearnerError
from ..files import Json
from ..schedules import Constant
from ..spaces.categorical import CategoricalBelief
from ..target import Target
from ..task import Family, Task, as_task
from ..training import SoftenedGrounding
from ..training.scaled import divided, readings, share_kept
from ..training.step import Batch, Memory, TrainingSet
from .answer_codes import AnswerCodes, Method, answer_list
from .posterior import belief_of

CHOICES: dict[str, tuple[str, ...]] = {
    "reduction": ("mean", "sum", "none"),
    "unexplained": ("raise", "drop"),
    "method": ("auto", "exact", "parts", "chains"),
}


@dataclass(eq=False)
class Rows:
    """Rows of one task, encoded: of a batch, or of a whole data set."""

    codes: AnswerCodes
    y: Tensor
    known: Tensor | None
    lost: Tensor | None  # which rows nothing explains; None where that was checked
    places: Tensor  # in the data set, or in the batch
    memory: Memory = field(default_factory=dict)  # chains of a data set
    teacher: SoftenedGrounding | None = None

    def walk(self, steps: int) -> None:
        """Begin a chain for every row."""
        self.teacher = SoftenedGrounding(steps=steps).begin(self.codes.task)
        self.memory = self.teacher.remember(TrainingSet(self.codes.task, self.y, self.known), 0)

    def at(self, index: Tensor, device: torch.device) -> Rows:
        """Some of the rows; all are moved to a device once."""
        if self.y.device != device:
            self.y, self.places = self.y.to(device), self.places.to(device)
            self.known, self.lost = (None if part is None else part.to(device) for part in (self.known, self.lost))
            self.memory |= {name: rows.to(device) for name, rows in self.memory.items()}
        known, lost = (None if part is None else part[index] for part in (self.known, self.lost))
        places = self.places if self.teacher is None else self.places[index]  # only chains need them
        return Rows(self.codes, self.y.index_select(0, index), known, lost, places, self.memory, self.teacher)


class GroundingLoss(nn.Module):
    """−log P(y|x) of a rule, softened by γ and scaled if you like.

    Parameters
    ----------
    rule
        A :class:`~softground.Task`, a rule, or a :class:`~softground.Family` for inputs of several lengths.
    answers, known, lengths
        The answers of all training examples, which are encoded, solved for and checked once; call the loss with
        ``index``, the examples' positions. Without them, call it with the answers of a batch. ``known`` are known
        symbols, as in :class:`~softground.Examples`; ``lengths`` the examples' numbers of sites, for a family.
    gamma
        The temperature, an attribute to be changed at any time.
    scaled
        c of scaled grounding, from 0 to 1, an attribute; off in ``eval()``.
    reduction
        ``"mean"``, ``"sum"`` or ``"none"``.
    unexplained
        Whether answers that nothing explains ``"raise"`` or are left out (``"drop"``).
    method
        ``"exact"`` sums over S_y; ``"parts"`` over the parts of a conjunction one by one, which is weaker; ``"auto"``
        takes the first of these that serves. ``"chains"`` samples, with ``steps`` of a chain for every example in each
        call; it needs ``answers`` and ``index``.

    >>> from softground import Categorical, Program
    >>> loss = GroundingLoss(Program(lambda a, b: a + b, Categorical([range(3)] * 2)), answers=[3, 0, 4])
    >>> loss(torch.zeros(2, 2, 3), index=[0, 2])
    tensor(1.8507)
    """

    usage: Tensor

    def __init__(
        self,
        rule: Any,
        *,
        answers: Any = None,
        known: Any = None,
        lengths: Any = None,
        gamma: float = 1.0,
        scaled: float = 0.0,
        reduction: Literal["mean", "sum", "none"] = "mean",
        unexplained: Literal["raise", "drop"] = "raise",
        method: Method = "auto",
        steps: int = 1,
    ) -> None:
        super().__init__()
        self.rule: Task | Family = rule if isinstance(rule, Family) else as_task(rule)
        for name, value in (("reduction", reduction), ("unexplained", unexplained), ("method", method)):
            if value not in CHOICES[name]:
                raise LearnerError(f"{name}={value!r} was given; expected one of {', '.join(CHOICES[name])}.")
        self.gamma, self.scaled, self.reduction, self.unexplained = gamma, scaled, reduction, unexplained
        self.method, self.steps = method, steps
        first = self.rule if isinstance(self.rule, Task) else next(iter(self.rule.tasks.values()))
        self._codes: dict[Task, AnswerCodes] = {}
        self._codes_of(first)
        self.register_buffer("usage", torch.zeros(len(first.space.symbols)))
        self._given: tuple[Any, Any, Any] | None = None  # answers, known symbols and lengths of a data set
        self._bound: Rows | None = None  # those of one task
        self._looked = False
        if answers is not None:
            self._bind(answers, known, lengths)
        elif known is not None or lengths is not None or method == "chains":
            raise DataError("known=, lengths= and method='chains' belong to a data set here: give its answers= too.")

    def extra_repr(self) -> str:
        return f"{self.rule!r}, gamma={self.gamma}, scaled={self.scaled}"

    def bind(self, answers: Any, *, known: Any = None, lengths: Any = None) -> GroundingLoss:
        """The same loss for another data set, such as a validation set: a module of its own, in ``eval()``."""
        twin = copy.deepcopy(self).eval()
        twin._bind(answers, known, lengths)
        return twin

    def _bind(self, answers: Any, known: Any, lengths: Any) -> None:
        count = len(answers)
        answers = answer_list(answers, count)
        if known is not None and len(known) != count:
            raise DataError(f"{count} answers have {len(known)} rows of known symbols; give one row for each answer.")
        self._given = answers, known, lengths
        (_, found), *_ = self._read(answers, known, lengths, torch.arange(count), torch.device("cpu"))
        self._bound = found if isinstance(self.rule, Task) else None
        if found.codes.method == "chains":
            if self._bound is None:
                raise DataError("Chains are for one task; a Family of tasks needs method='exact' or 'parts'.")
            found.walk(self.steps)

    def _codes_of(self, task: Task) -> AnswerCodes:
        return self._codes.setdefault(task, AnswerCodes(task, self.method))

    def _read(
        self, answers: list[Any] | None, known: Any, lengths: Any, places: Tensor, device: torch.device
    ) -> list[tuple[list[int] | None, Rows]]:
        """Rows task by task, with their positions; None for all."""
        strict = self.unexplained == "raise"
        if isinstance(self.rule, Task) != (lengths is None) or (lengths is not None and len(lengths) != len(places)):
            raise DataError.of(
                {"lengths": lengths},
                f" for {len(places)} rows of {self.rule!r}; expected the number of sites of each row for a Family, and "
                "none for a task.",
            )
        if isinstance(self.rule, Task):
            codes = self._codes_of(self.rule)
            return [(None, Rows(codes, *codes.explained(answers, known, places, device, strict), places))]
        found, each = list[tuple[list[int] | None, Rows]](), torch.as_tensor(lengths).cpu()
        for length in torch.unique(each).tolist():
            rows, codes = (each == length).nonzero().flatten().tolist(), self._codes_of(self.rule[length])
            some, also = (None if part is None else picked(part, rows) for part in (answers, known))
            found.append((rows, Rows(codes, *codes.explained(some, also, places[rows], device, strict), places[rows])))
        return found

    @torch.compiler.disable  # type: ignore[untyped-decorator]
    def forward(
        self, logits: Any, answers: Any = None, *, index: Any = None, known: Any = None, lengths: Any = None
    ) -> Tensor:
        """The loss of ``logits[rows, sites, symbols]``, by the rows' ``index`` in the data set, or by their answers."""
        count = len(logits)
        device = logits.scores.device if isinstance(logits, CategoricalBelief) else logits.device
        if not self._looked:
            self._look(logits)
        if index is not None:
            index = self._index(index, count, answers is None and known is None and lengths is None)
        elif self._given is not None:  # otherwise positions could pass for answers
            raise DataError("This loss has the answers of a data set; call loss(logits, index=rows), or bind others.")
        cast = torch.is_autocast_enabled(device.type)
        with torch.autocast(device.type, enabled=False) if cast else nullcontext():
            if index is not None and self._bound is not None:
                groups: list[tuple[list[int] | None, Rows]] = [(None, self._bound.at(index.to(device), device))]
            else:
                places = torch.arange(count) if index is None else index
                if index is not None and self._given is not None:
                    picks = places.tolist()
                    answers, known, lengths = (None if part is None else picked(part, picks) for part in self._given)
                answers = None if answers is None else answer_list(answers, count)
                groups = self._read(answers, known, lengths, places, device)
            parts = []
            for where, rows in groups:
                space = rows.codes.task.space
                parts.append((belief_of(space, logits if where is None else logits[where, : space.sites]), rows))
            used = self._used(parts) if self.training and self.scaled else None
            each = [self._each(belief, rows, used) for belief, rows in parts]
            return self._reduced(count, [where for where, _ in groups], each)

    def _index(self, index: Any, count: int, alone: bool) -> Tensor:
        """The rows' positions in the data set."""
        if self._given is None or not alone:
            raise DataError("index= takes the place of everything else, and needs GroundingLoss(task, answers=…).")
        found, total = torch.as_tensor(index) if count else torch.zeros(0, dtype=torch.long), len(self._given[0])
        if found.shape != (count,) or found.is_floating_point() or found.dtype == torch.bool:
            raise DataError(
                f"index is {found.dtype} of shape {tuple(found.shape)}; expected the position in the data set, a whole "
                f"number, for each of {count} rows of logits."
            )
        low, high = torch.aminmax(found) if found.device.type == "cpu" and count else (0, 0)
        if not 0 <= int(low) <= int(high) < total + (not count):
            raise DataError(f"index goes from {int(low)} to {int(high)}; there are {total} answers.")
        return found

    def _look(self, logits: Any) -> None:
        self._looked = True
        sums = logits.detach().sum(-1) if isinstance(logits, Tensor) and logits.numel() else torch.zeros(1)
        if bool((sums - 1).abs().max() < 1e-3) and bool((logits >= 0).all()):
            warnings.warn("Every row of the logits adds up to 1. Give logits, not probabilities.", stacklevel=4)

    def _used(self, parts: Sequence[tuple[CategoricalBelief, Rows]]) -> Tensor:
        """u(s) by symbol, of all processes; a running mean where a batch is small."""
        if not 0 <= self.scaled <= 1:
            raise LearnerError.of({"scaled": self.scaled}, "expected a number from 0 to 1.")
        total = torch.zeros(len(self.usage) + 2, dtype=torch.float64, device=self.usage.device)
        for belief, rows in parts:
            with torch.no_grad():
                found, count = readings(belief, rows.known, belief.space.layout(rows.y.device).symbols, len(self.usage))
            sites = torch.tensor([len(belief) * belief.space.sites])
            total += torch.cat([found, count.view(1), sites.to(found)]).to(total)
        if distributed.is_available() and distributed.is_initialized():
            distributed.all_reduce(total)
        mean = (total[:-2] / total[-2].clamp(min=1)).to(self.usage)
        keep = share_kept(int(total[-1]), len(self.usage)) if bool(self.usage.any()) else 0.0
        self.usage.copy_(keep * self.usage + (1 - keep) * mean)
        return self.usage

    def _each(self, belief: CategoricalBelief, rows: Rows, used: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """The loss of every row, and which rows count; None for all."""
        kept = None if rows.lost is None else ~rows.lost
        if kept is not None and not bool(kept.all()):
            places = kept.nonzero().flatten()
            each, counts = self._each(belief.rows(places), rows.at(places, places.device), used)
            each = each.new_zeros(len(kept)).index_copy(0, places, each)
            return each, kept if counts is None else kept.index_copy(0, places, counts)
        own, y, known = rows.codes, rows.y, rows.known
        informed = belief if known is None else belief.given(known)
        share = belief.space.sites / own.parts.visits if own.method == "parts" else 1.0
        if self.gamma == 1 and used is None and own.method != "chains":
            target = Target(informed, y, 1.0)
            if own.method == "parts":
                each = -share * own.parts.log_mass(target).to(belief.scores)
            else:
                each = -own.task.inverse.law(target).log_mass(quiet=True).to(belief.scores)
            return (each if known is None else each - belief.log_known(known)), None
        with torch.no_grad():
            evidence = informed.detach()
            if used is not None:
                evidence = divided(evidence, used, self.scaled, belief.space.layout(y.device).symbols)
            taught, counts = self._taught(evidence, rows)
        sites = share * belief.expected(taught.to(belief.scores) if taught.is_floating_point() else taught)
        if known is not None:
            sites = torch.where(known < 0, sites, belief.site_scores(known.clamp(min=0)))
        each = -sites.sum(1)
        return (each, None) if counts is None else (torch.where(counts, each, 0.0), counts)

    def _taught(self, evidence: CategoricalBelief, rows: Rows) -> tuple[Tensor, Tensor | None]:
        """The targets: marginals of Q*, or states of chains; and which rows have one."""
        own = rows.codes
        if own.method == "exact":
            return own.task.inverse.law(Target.at(evidence, rows.y, self.gamma)).marginals(), None
        if own.method == "parts":
            scores = evidence.tempered(self.gamma).scores
            return own.parts.marginals(scores, *own.parts.answers(rows.y)), None
        assert rows.teacher is not None
        dice = Sampler(int(torch.randint(2**62, ())), rows.y.device)
        batch = Batch(own.task, None, rows.places, rows.y, dice, known=rows.known)
        batch.evidence, batch.memory = evidence, rows.memory
        z = replace(rows.teacher, schedule=Constant(self.gamma)).teach(batch)
        if batch.taught is None:
            return z, None
        counts = torch.zeros(len(rows.y), dtype=torch.bool, device=z.device).index_fill(0, batch.taught, True)
        return evidence.mode().index_copy(0, batch.taught, z), counts

    def _reduced(
        self, count: int, where: Sequence[list[int] | None], found: Sequence[tuple[Tensor, Tensor | None]]
    ) -> Tensor:
        each, counts = found[0]
        if where[0] is not None:  # several tasks, back in the order of the batch
            order = torch.tensor([row for rows in where for row in rows or []], device=each.device).argsort()
            counts = torch.cat([torch.ones_like(one).bool() if c is None else c for one, c in found])[order]
            each = torch.cat([one for one, _ in found])[order]
        if self.reduction == "none":
            return each
        total = each.sum()
        if self.reduction == "sum":
            return total
        return total / max(1, count) if counts is None else total / counts.sum().clamp(min=1)

    def __deepcopy__(self, memo: dict[int, Any]) -> GroundingLoss:
        """A copy shares the task, whose tables are worth keeping."""
        memo[id(self.rule)] = self.rule
        memo |= {id(task): task for task in self._codes}
        twin = memo[id(self)] = type(self).__new__(type(self))
        twin.__dict__ = copy.deepcopy(self.__dict__, memo)
        return twin

    def __getstate__(self) -> Json:
        return {**self.__dict__, "_bound": None, "_codes": {}}

    def __setstate__(self, state: Json) -> None:
        super().__setstate__(state)  # type: ignore[no-untyped-call]
        if self._given is not None:
            self._bind(*self._given)
