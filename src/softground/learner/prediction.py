"""Prediction: the most probable symbols, also under the rule; and the common methods of models and learners."""

import heapq
import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import Dataset

from ..data.columns import listed, rowed
from ..data.examples import Examples, Ragged, as_tensor
from ..data.known import known_codes
from ..errors import InfeasibleAnswer, LearnerError
from ..files import Json
from ..inverses.base import coded, sole
from ..inverses.base import most_probable as mode_of
from ..preparing import many
from ..spaces.categorical import CategoricalBelief
from ..target import Target
from ..task import Family, Task
from .datasets import Batches, Data, Part, data_by_shape, in_order, parts_of
from .evaluation import all_figures, beliefs, look_at, predictions, read_part

BUDGET = 1_000_000
CHUNK = 256  # states examined together


def most_probable(
    task: Task, belief: CategoricalBelief, y: Tensor | None, index: Tensor, budget: int = BUDGET
) -> Tensor:
    r""":math:`\arg\max_z P(z|x)` over S_y, or over all states with an answer if ``y`` is None: ``[batch, sites]``.

    The result is exact. A feasible prediction of the network is kept. Otherwise the inverse finds the result, if it can
    (a table, a list, a scan), or else at most ``budget`` states are tried in order of probability.
    ``index`` holds the examples' positions, for messages.
    """
    z = belief.mode()
    if y is None:
        one = sole(task.inverse)
        y = None if one is None else coded(task.inverse, one.to(z.device).expand(len(z), *one.shape[1:]))
    fine = task.admissible(z) if y is None else task.feasible(z, y)
    rest = (~fine).nonzero().flatten()
    if not len(rest):
        return z
    left = belief.rows(rest)
    try:
        best = None if y is None else mode_of(task.inverse, Target(left, y[rest], 1.0))
    except InfeasibleAnswer as error:  # which knows the rows of the rest only
        lost = rest[list(error.examples)]
        raise (task.contradicted if belief.pinned else task.infeasible)(y[lost], index[lost].tolist()) from error  # type: ignore[index]
    if best is not None and y is not None:
        lost = ~task.feasible(best, y[rest])
        gone = torch.isneginf(left.log_prob(best)) | (lost & task.inverse.exact)
        if bool(gone.any()):
            raise task.contradicted(y[rest[gone]], index[rest[gone]].tolist())
        if bool(lost.any()):
            raise LearnerError(
                f"Example {int(index[rest[lost][0]])}: no feasible state was found. The network is too unsure of it "
                "for a search, or known symbols contradict each other. Train further, or correct them."
            )
    if best is None:
        rows = [(belief.scores[row], None if y is None else y[row], int(index[row])) for row in rest.tolist()]
        best = torch.stack([_best_first(task, scores, answer, budget, at) for scores, answer, at in rows])
    return z.index_copy(0, rest, best)


def _best_first(task: Task, scores: Tensor, y: Tensor | None, budget: int, example: int) -> Tensor:
    """Find the first feasible state of one example in order of probability."""
    size = math.prod((scores > -torch.inf).sum(-1).tolist())  # known symbols restrict the space
    tried = 0
    for states in likeliest(scores):
        states = states[: budget - tried]
        tried += len(states)
        good = task.admissible(states) if y is None else task.feasible(states, y.expand(len(states), *y.shape))
        if bool(good.any()):  # they come in order, so the first feasible one is the best
            return states[int(good.to(torch.uint8).argmax())]
        if tried == budget < size:
            raise LearnerError(
                f"Example {example}: none of its {tried:,} most probable states is feasible. Raise the budget of "
                f"{budget:,} states (the space has {many(task.space.size)}), or train further."
            )
    if y is None:
        raise LearnerError("The rule gives no answer for any state of the space. Correct the rule.")
    raise (task.infeasible if size == task.space.size else task.contradicted)(y[None], [example])


def likeliest(scores: Tensor) -> Iterator[Tensor]:
    """Yield a space's states, the most probable first, in chunks of codes ``[CHUNK or fewer, sites]``.

    The i-th best symbol of each site gives a state a rank vector; lowering one rank at a time from the all-best vector
    reaches every state once (only sites from the last lowered one on may be lowered), never before a likelier one.
    """
    ranked, symbols = scores.double().cpu().sort(-1, descending=True)
    sizes, score = (ranked > -torch.inf).sum(-1).tolist(), ranked.tolist()  # known symbols leave one
    heap = [(0.0, (0,) * len(sizes), 0)]
    while heap:
        chunk: list[tuple[int, ...]] = []
        while heap and len(chunk) < CHUNK:
            loss, ranks, site = heapq.heappop(heap)
            chunk.append(ranks)
            for i in range(site, len(sizes)):
                if ranks[i] + 1 < sizes[i]:
                    lower = (*ranks[:i], ranks[i] + 1, *ranks[i + 1 :])
                    step = score[i][ranks[i]] - score[i][ranks[i] + 1]
                    heapq.heappush(heap, (loss + step, lower, i))
        yield symbols.gather(1, torch.tensor(chunk).T).T.to(scores.device)


class Reader:
    """Predict symbols with a network. Several threads may call the methods at once.

    They never change the network: if it is in training mode or on another device, a copy is used.
    """

    network: nn.Module  # from a batch of inputs to the outputs that the space reads
    space: Any  # the symbol vectors; for a family of tasks a dict of those of each shape
    task: Task | Family | None  # the rule; without it, no constraints and no evaluation
    device: torch.device  # the device for predictions
    fitted: bool = True  # or being fitted
    seen: Any = None  # figures of its training inputs; for a family by shape
    workers: int = 0  # processes that read a data set other than tensors; 0 reads it in this process

    def predict(
        self,
        x: Any,
        y: Sequence[object] | None = None,
        *,
        known: object = None,
        constrained: bool = False,
        budget: int = BUDGET,
    ) -> list[tuple[Any, ...]]:
        """Return the most probable symbols of each input; for a family, inputs of different shapes in one list.

        With ``y``, it is the most probable z ∈ S_y; with ``constrained=True``, the most probable z with an answer (a
        valid board, a formula without division by zero). Without a table of solutions, at most ``budget`` states of
        an input are tried, the likeliest first. Give fixed symbols ``known`` as in :class:`~softground.data.Examples`.
        """
        parts = self._inputs(x)
        return in_order(parts, [part.space.decode(z) for part, z in self._codes(parts, y, known, constrained, budget)])

    def predict_codes(self, x: Any, y: Sequence[object] | None = None, **given: Any) -> Any:
        """:meth:`predict`, as codes ``[inputs, sites]``; for a family a list of codes ``[sites]``."""
        parts = self._inputs(x)
        found = [codes for _, codes in self._codes(parts, y, **given)]
        return found[0] if self._alone else in_order(parts, found)

    def _codes(
        self,
        parts: list[Part],
        y: Sequence[object] | None = None,
        known: Any = None,
        constrained: bool = False,
        budget: int = BUDGET,
    ) -> Iterator[tuple[Part, Tensor]]:
        """Yield the most probable codes of each part; ``y`` and ``known`` cover all inputs."""
        y, known, count = None if y is None else listed(y), rowed(known), sum(len(part.data) for part in parts)
        for name, column in (("answers", y), ("rows of known symbols", known)):
            if column is not None and len(column) != count:
                raise LearnerError(f"{count} inputs but {len(column)} {name}: give one per input.")
        task = self._rule("A constrained prediction") if y is not None or constrained else None
        for part in parts:
            rows, data, codes = part.places, part.data, None
            if known is not None:
                own = known if self._alone else [known[row] for row in rows]
                codes = known_codes(own, part.space, len(data), data.place).to(self.device)
            if task is None:
                yield part, predictions(part.space, self.network, data, codes)
                continue
            encoded = None if y is None else part.encode([y[row] for row in rows])
            with torch.no_grad():
                some = [
                    most_probable(part.task, belief, None if encoded is None else encoded[i], data.at(i), budget)
                    for i, belief in beliefs(part.space, self.network, data, codes)
                ]
            yield part, torch.cat(some)

    def predict_proba(self, x: Any) -> Any:
        """Return P(z|x) site by site, ``[inputs, sites, K]``, in the order of each site's alphabet.

        K is the size of the largest alphabet; smaller ones are padded with zeros. If all symbols can be read, a site's
        own symbols come first. For reals, the result is means ``[inputs, sites]``; for a family, one array per input.
        """
        parts, found = self._inputs(x), []
        for part in parts:
            each = [belief.marginals() for _, belief in beliefs(part.space, self.network, part.data)]
            found.append(torch.cat(each).cpu().numpy())
        return found[0] if self._alone else in_order(parts, found)

    def predict_answers(self, x: Any) -> list[Any]:
        """Return the answers of the predicted symbols, None without one. For rules that compute answers."""
        self._rule("An answer")
        parts = self._inputs(x)
        return in_order(parts, [part.task.compute(z) for part, z in self._codes(parts)])

    def evaluate(self, data: Data) -> Json:
        """Return all figures on pairs (x, y): the task's metrics and, with true symbols, those of single symbols.

        For a family, the figures are for all shapes and for each; the task's metrics are averages over examples.
        """
        self._rule("An evaluation")
        parts = self._parts(data)
        for part in parts:
            part.data.check(part.space)
        return all_figures(parts, [read_part(part, self.network, constrained=True) for part in parts])

    def grounded(self, data: Data) -> int:
        """Count the examples whose prediction is feasible, ẑ ∈ S_y: the paper's count of grounded examples."""
        self._rule("Counting right answers")
        found = [(part, predictions(part.space, self.network, part.data)) for part in self._parts(data)]
        return sum(int(part.task.explained(z, part.y).sum()) for part, z in found)

    @property
    def _alone(self) -> bool:
        """Whether there is a single task."""
        return not isinstance(self.space, Mapping)

    def _rule(self, what: str) -> Task | Family:
        if self.task is None:
            raise LearnerError(
                f"{what} needs the rule, which could not be saved with this model: it is not a table, a listing or a "
                "scan. Give it back: softground.load(path, task=…)."
            )
        return self.task

    def _parts(self, data: Data) -> list[Part]:
        """A data set in parts, for a rule that is known."""
        return self._looked_at(parts_of(self._rule("A data set"), data, self.device, self.workers))

    def _looked_at(self, parts: list[Part]) -> list[Part]:
        seen = self.seen if isinstance(self.seen, Mapping) else {None: self.seen}
        look_at(parts, self.network, seen.get)
        return parts

    def _inputs(self, x: Any) -> list[Part]:
        """Inputs in parts."""
        if not self.fitted:
            warnings.warn("This learner has not been fitted; its network reads as it was given.", stacklevel=3)
        if not hasattr(x, "__len__") or (isinstance(x, Tensor) and not x.dim()):
            raise LearnerError(f"A {type(x).__name__} was given to predict; expected a tensor or sequence of inputs.")
        if self._alone:
            alone: Any = self.task
            return self._looked_at([Part(None, alone, Batches(_unanswered(x), self.device, self.workers), self.space)])
        if isinstance(x, Mapping):
            x = {shape: _unanswered(part) for shape, part in x.items()}
        elif not isinstance(x, Dataset):
            x = Ragged.of(x, [0] * len(x))
        family: Any = self.task if isinstance(self.task, Family) else None
        serves = family.serves if family else self.space.__contains__
        parts = [
            Part(shape, family and family[shape], Batches(data, self.device, self.workers, at), self.space.get(shape))
            for shape, data, at in data_by_shape(x, self.space, serves)
        ]
        return self._looked_at(parts)


def _unanswered(x: Any) -> Dataset[Any]:
    """Inputs as a data set with placeholder answers; a data set is returned unchanged."""
    if isinstance(x, Dataset):
        return x
    x = as_tensor(x) if hasattr(x, "toarray") else x  # a sparse matrix has no length
    return Examples(x, [0] * len(x))
