"""All figures of a network on a data set: the task's own metrics, and those of single symbols.

They need what P(z|x) says of each site, beside the prediction. They are taken when a run has ended, and by
``Learner.evaluate``; during training there are the task's metrics alone (:mod:`softground.learner.evaluation`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor, nn

from ..errors import InfeasibleAnswer
from ..metrics import Reliability, auroc, best_relabelling, calibration_error, collapse, macro_f1, numbered, reliability
from ..target import Target
from .evaluation import beliefs, measured, modes
from .parts import Part, together


class Reading(NamedTuple):
    """What a network reads in the examples of a part."""

    predicted: list[Tensor]  # its predictions; for a space whose sites differ, those of the other readings as well
    likeliest: Tensor | None  # the most probable symbol of each site, which for a product is the prediction
    confidence: Tensor | None  # and how probable it is; None for reals, and where no true symbols are known
    evidence: Tensor | None = None  # log P(S_y|x) of the answer y that the task detects
    constrained: Tensor | None = None  # the most probable z ∈ S_y, where it was asked for and the inverse can tell


class Sites(NamedTuple):
    """The sites of all examples in one row, as numbers of symbols."""

    truth: Tensor
    predicted: Tensor
    likeliest: Tensor
    confidence: Tensor


def read(part: Part, network: nn.Module, constrained: bool = False) -> Reading:
    """What the network reads, in one pass over the examples; if asked for, also under the rule and their answers."""
    compared, found = part.space.categorical and part.data.symbols is not None, []
    for index, belief in beliefs(part.space, network, part.data):
        sure = tuple(belief.marginals().max(-1)) if compared else (None, None)
        given = _constrained(part, belief, part.y[index]) if constrained and compared else None
        found.append((*modes(part.space, belief), *sure[::-1], _evidence(part, belief), given))
    columns = list(zip(*found, strict=True))
    found.clear()  # so that no more than one column is there twice
    *predicted, best, sureness, evidence, given = (_joined_rows(columns.pop(0)) for _ in range(len(columns)))
    return Reading(predicted, best, sureness, evidence, given)  # type: ignore[arg-type]


def _constrained(part: Part, belief: Any, y: Tensor) -> Tensor | None:
    """The mode of the rule, z ∈ S_y; where S_y is empty, or a search gave up, what the network reads by itself."""
    inverse, z = part.task.inverse, cast(Tensor, belief.mode())
    if not (inverse.exact or inverse.has_mode):
        return None
    rest = (~part.task.feasible(z, y)).nonzero().flatten()
    while len(rest):
        try:
            best = inverse.most_probable(Target(belief.rows(rest), y[rest], 1.0))
            return None if best is None else z.index_copy(0, rest, best)
        except InfeasibleAnswer as error:
            rest = rest[[row for row in range(len(rest)) if row not in error.examples]]
    return z


def _joined_rows(batches: Sequence[Any]) -> Tensor | None:
    return None if any(batch is None for batch in batches) else torch.cat(tuple(batches))


def _evidence(part: Part, belief: Any) -> Tensor | None:
    if part.task.detects is None:
        return None
    y = part.task.constraint.encode([part.task.detects]).to(part.y.device).expand(len(belief))
    return part.task.inverse.law(Target(belief, y, 1.0)).log_mass()


def all_figures(parts: Sequence[Part], readings: Sequence[Reading]) -> dict[str, Any]:
    """The task's metrics, then those of :func:`symbol_figures` that are not among them."""
    own = together([(part, measured(part, found.predicted)) for part, found in zip(parts, readings, strict=True)])
    own |= constrained_figures(parts, readings)
    return own | {name: value for name, value in symbol_figures(parts, readings).items() if name not in own}


def constrained_figures(parts: Sequence[Part], readings: Sequence[Reading]) -> dict[str, Any]:
    """The task's metrics of readings under the rule, ``constrained_…``, where these were asked for.

    Without true symbols there are none: that such readings keep the rule says nothing. Several shapes are averaged.
    """
    found = []
    for part, reading in zip(parts, readings, strict=True):
        if reading.constrained is None:
            return {}
        found.append((part, part.task.figures(reading.constrained, part.y, part.data.symbols)))
    return {f"constrained_{name}": value for name, value in together(found).items() if name in found[0][1]}


def symbol_figures(parts: Sequence[Part], readings: Sequence[Reading]) -> dict[str, float]:
    """Accuracy, macro-F1, collapse and calibration error of symbols; nothing where they are reals, or not known.

    F1, collapse and calibration error of several shapes count all sites together; the accuracy is an average over
    examples, as a task's own metrics are.
    """
    sites, task = _sites(parts, readings), parts[0].task
    if not sites:
        return {}
    of = [_figures(each, len(task.space.symbols), task.nameless_symbols) for each in (*sites, _joined(sites))]
    found = together(list(zip(parts, of, strict=False)))
    found |= {name: value for name, value in of[-1].items() if not name.endswith("_accuracy")}
    if task.detects is not None:
        wanted = task.constraint.encode([task.detects])
        evidence = [found.evidence.cpu() for found in readings if found.evidence is not None]
        found["answer_auroc"] = auroc(torch.cat(evidence), torch.cat([part.y.cpu() == wanted for part in parts]))
    return found


def reliability_of(parts: Sequence[Part], readings: Sequence[Reading]) -> Reliability | None:
    """The bins behind the calibration error."""
    if not (sites := _sites(parts, readings)):
        return None
    named = _named(_joined(sites), len(parts[0].task.space.symbols), parts[0].task.nameless_symbols)
    return reliability(named.confidence, named.likeliest == named.truth)


def _figures(sites: Sites, symbols: int, nameless: bool) -> dict[str, float]:
    truth, predicted, likeliest, confidence = _named(sites, symbols, nameless)
    figures = {
        "symbol_accuracy": (predicted == truth).double().mean().item(),
        "symbol_f1": macro_f1(predicted, truth),
        "symbol_f1_all": macro_f1(predicted, truth, symbols),
        "symbol_collapse": collapse(predicted, truth),
        "symbol_collapse_all": collapse(predicted, truth, symbols),
        "symbol_ece": calibration_error(confidence, likeliest == truth),
    }
    return {f"relabelled_{name}" if nameless else name: value for name, value in figures.items()}


def _named(sites: Sites, symbols: int, nameless: bool) -> Sites:
    """Under the renaming that agrees best, where a rule leaves symbols known only up to one."""
    if not nameless:
        return sites
    names = best_relabelling(sites.predicted, sites.truth, symbols)
    return sites._replace(predicted=names[sites.predicted], likeliest=names[sites.likeliest])


def _sites(parts: Sequence[Part], readings: Sequence[Reading]) -> list[Sites]:
    """The sites of each part; none unless all symbols are known."""
    if not parts[0].space.categorical or any(part.data.symbols is None for part in parts):
        return []
    found = []
    for part, reading in zip(parts, readings, strict=True):
        codes: list[Any] = [part.data.symbols, reading.predicted[0], reading.likeliest]
        truth, read, best = (numbered(part.space, each.cpu()).flatten() for each in codes)
        found.append(Sites(truth, read, best, reading.confidence.cpu().flatten()))  # type: ignore[union-attr]
    return found


def _joined(sites: list[Sites]) -> Sites:
    return Sites(*(torch.cat(column) for column in zip(*sites, strict=True)))
