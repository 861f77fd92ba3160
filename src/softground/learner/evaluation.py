"""Predictions for a whole data set, and their figures.

During training, only the task's metrics are measured. :func:`all_figures` adds figures of single symbols, which need
P(z|x) at each site. They are measured at the end of a run and by ``Learner.evaluate``.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor, nn

from ..data.gathered import Gathered
from ..data.inputs import Inputs, first_not_finite
from ..dice import Sampler
from ..errors import DataError, InfeasibleAnswer, LearnerError, NonFiniteOutput, SoftgroundError, SpaceError
from ..figures import flat_names
from ..files import Json
from ..inverses.base import finds_mode, most_probable
from ..metrics import Reliability, auroc, best_relabelling, calibration_error, collapse, macro_f1, numbered, reliability
from ..networks.layers import RandomLayer
from ..spaces.base import Space
from ..target import Target
from ..task import Task
from ..training import Moment, SoftenedGrounding
from .datasets import Batches, Part, averaged
from .stage import Stage

BATCH = 256  # examples read at once
IMAGES = 2048  # pool images read at once
SHOWN = 8  # names in a message


def reader(network: nn.Module, device: torch.device) -> nn.Module:
    """Return the network in evaluation mode on ``device``, without changing the given one.

    The result is the network itself if it is already in that state, as after a fit. Otherwise it is a copy that shares
    parameters and buffers on the same device.
    """
    tensors = [*network.parameters(), *network.buffers()]
    here = all(tensor.device == device for tensor in tensors)
    if here and not any(module.training for module in network.modules()):
        return network
    shared: list[Any] = tensors if here else []
    shared += [module.generator for module in network.modules() if isinstance(module, RandomLayer)]
    try:
        twin = copy.deepcopy(network, {id(part): part for part in shared})
    except Exception as error:
        raise LearnerError(
            f"This {type(network).__name__} is in training mode or on another device, and cannot be copied "
            f"({type(error).__name__}: {error}). Call network.eval() and network.to({str(device)!r}) first."
        ) from error
    return twin.to(device).eval()


def like_weights(network: nn.Module, x: Any) -> Any:
    """Cast floating-point inputs to the precision of the network's weights."""
    if not isinstance(x, Tensor) or not x.is_floating_point():
        return x
    return x.to(next((p.dtype for p in network.parameters() if p.is_floating_point()), x.dtype))


def each_once(network: nn.Module, x: Gathered, read: Callable[[Tensor], Any]) -> Any:
    """Compute outputs by ``read``. A network that reads single images reads every image of the pool once."""
    alone = getattr(network, "image_by_image", False)
    return x.dealt(read(x.pool[:, None])[:, 0]) if alone else read(x[:])


def output_of(network: nn.Module, x: Any) -> Any:
    """Compute the network's output for inputs x."""
    if isinstance(x, Gathered):
        return each_once(network, x, lambda images: output_of(network, images))
    return network(like_weights(network, x))


def check_rows(output: object, rows: int) -> None:
    """Refuse an output without exactly one row for each of ``rows`` inputs."""
    if isinstance(output, Tensor) and output.dim() == 3 and len(output) != rows:
        raise SpaceError(f"The network gave {len(output)} rows for {rows} inputs; expected one row per input.")


def outputs(network: nn.Module, data: Batches) -> Iterator[tuple[Tensor, Any]]:
    """Yield ``(positions, output)`` batch by batch; a recurring image is read once for all batches."""
    held, batches, alone = data.inputs, data.in_order(BATCH), getattr(network, "image_by_image", False)
    if alone and isinstance(held, Gathered) and held.index.numel() >= len(held.pool):
        read = torch.cat([output_of(network, some[:, None])[:, 0] for some in torch.split(held.pool, IMAGES)])
        for index in batches:
            there = index.to(data.device)
            yield there, held.rows(there).dealt(read)
    else:
        for index, x in data.walk(batches):
            yield index, output_of(network, x)


def complaint(bad: Tensor, index: Tensor) -> NonFiniteOutput:
    """Make the error for the rows ``bad`` of a batch of examples ``index``; anchors may follow them."""
    places = index.tolist()
    rows = [places[row] if row < len(places) else "an anchor" for row in bad.nonzero().flatten().tolist()]
    return NonFiniteOutput(
        f"The network's output holds NaN or infinity for {len(rows)} of the {len(bad)} examples of a batch: "
        f"{some_of(rows)}. Lower the learning rate, or look for NaN in the inputs."
    )


def some_of(names: Sequence[int | str]) -> str:
    """The first names, for a message."""
    return ", ".join(map(str, names[:SHOWN])) + (" …" if len(names) > SHOWN else "")


def believe(space: Space, output: Tensor, index: Tensor) -> Any:
    """P(z|x) of the examples at positions ``index``; an error for a non-finite output names these."""
    check_rows(output, len(index))
    try:
        return space.belief(output)
    except NonFiniteOutput as error:
        raise complaint(~torch.isfinite(output).flatten(1).all(1), index) from error


@torch.no_grad()
def beliefs(
    space: Space, network: nn.Module, data: Batches, known: Tensor | None = None
) -> Iterator[tuple[Tensor, Any]]:
    """Yield ``(positions, P(z|x))`` batch by batch, given the codes of ``known`` symbols, without gradients."""
    for index, output in outputs(reader(network, data.device), data):
        belief = believe(space, output, data.at(index))
        yield index, belief if known is None else belief.given(known[index])


def look_at(parts: Sequence[Part], network: nn.Module, seen: Callable[[Any], Inputs | None] | None = None) -> None:
    """Refuse inputs with missing values, and convert inputs to the form of the training data.

    ``seen`` gives the form of the training inputs for each shape.
    """
    for part in parts:
        data = part.data
        if (place := first_not_finite(data.inputs)) is not None:
            with suppress(RuntimeError), torch.no_grad():  # some networks replace missing values
                read = output_of(reader(network, data.device), data.inputs[place[0] : place[0] + 1])  # type: ignore[index]
                if isinstance(read, Tensor) and bool(read.isfinite().all()):
                    continue
            raise DataError(
                f"The input of example {data.place(place[0])} is NaN or infinite in column "
                f"{', '.join(map(str, place[1:])) or 0}. Replace missing values, or leave the example out."
            )
        if seen is not None:
            data.read_like(network, partial(seen, part.shape))


@contextmanager
def misfits(network: nn.Module, parts: Sequence[Part]) -> Iterator[None]:
    """If torch fails on inputs, raise an error that names them."""
    try:
        yield
    except RuntimeError as error:
        for part in parts:
            try:
                next(beliefs(part.space, network, part.data.first(2)))
            except SoftgroundError:
                continue
            except RuntimeError:
                shape, reason = list(part.data.shape or ()), " ".join(str(error).split())
                remedy = "the inputs as floats, x.float()" if "same dtype" in reason else "one for this shape"
                said = f"The network cannot read inputs of shape {shape}: {reason}. Give {remedy}."
                raise LearnerError(said) from error
        raise


@torch.no_grad()
def groundings(task: Task, stages: Sequence[Stage], network: nn.Module, data: Batches, y: Tensor) -> Tensor | None:
    """Draw symbols from the current Q*, for stages whose kernel needs no chain; None for other stages.

    If S_y is empty, the network's prediction stands in for a draw.
    """
    last = next((s for s in reversed(stages) if isinstance(s.objective, SoftenedGrounding)), None)
    if last is None or not task.inverse.exact or not task.space.categorical:
        return None
    gamma, dice, found = last.objective.numbers(Moment(epoch=last.most - 1))["gamma"], Sampler(0, data.device), []
    for index, belief in beliefs(task.space, network, data, data.known):
        target, z = Target.at(belief, y[index], gamma), belief.mode()
        rows = (task.inverse.law(target).log_mass(quiet=True) > -torch.inf).nonzero().flatten()
        if len(rows):
            law = task.inverse.law(Target.at(belief.rows(rows), y[index[rows]], gamma))
            z = z.index_copy(0, rows, law.draw(dice))
        found.append(z)
    return torch.cat(found)


def predictions(space: Space, network: nn.Module, data: Batches, known: Tensor | None = None) -> Tensor:
    """The most probable symbol vector of every example, ``[examples, sites]``."""
    return torch.cat([belief.mode() for _, belief in beliefs(space, network, data, known)])


def modes(space: Space, belief: Any) -> tuple[Tensor, ...]:
    """The most probable symbol vectors, by both kinds of readings if they differ."""
    return (belief.mode(), belief.other_mode()) if space.mixed else (belief.mode(),)


def evaluate(parts: Sequence[Part], network: nn.Module) -> Json:
    """Compute the task's metrics for a data set in parts; :func:`all_figures` has more."""
    found = []
    for part in parts:
        read = [modes(part.space, belief) for _, belief in beliefs(part.space, network, part.data)]
        found.append((part, measured(part, [torch.cat(batches) for batches in zip(*read, strict=True)])))
    return averaged(found)


def measured(part: Part, predicted: list[Tensor]) -> Json:
    """Compute the task's metrics for a part's predictions, one for each of :func:`modes`.

    Metrics of the other readings begin with ``grammatical_`` if the network reads all symbols, else with ``plain_``.
    """
    figures, *others = (part.task.figures(z, part.y, part.data.symbols) for z in predicted)
    for other in others:
        kind = "grammatical" if part.space.readings == "all" else "plain"
        figures |= flat_names(other, reading=kind)
    return figures


class Reading(NamedTuple):
    """The network's readings of a part's examples."""

    predicted: list[Tensor]  # predictions; also by the other readings if the space's sites differ
    likeliest: Tensor | None  # the most probable symbol of each site; for a product, the prediction
    confidence: Tensor | None  # its probability; None for reals, or without true symbols
    evidence: Tensor | None = None  # log P(S_y|x) of the answer y that the task detects
    constrained: Tensor | None = None  # the most probable z ∈ S_y, if requested, and if the inverse can find it


class Sites(NamedTuple):
    """The sites of all examples in one row, as numbers of symbols."""

    truth: Tensor
    predicted: Tensor
    likeliest: Tensor
    confidence: Tensor


def read_part(part: Part, network: nn.Module, constrained: bool = False) -> Reading:
    """Read a part in one pass; if ``constrained``, also under the rule and the answers."""
    compared, found = part.space.categorical and part.data.symbols is not None, []
    for index, belief in beliefs(part.space, network, part.data):
        sure = tuple(belief.marginals().max(-1)) if compared else (None, None)
        given = _constrained(part, belief, part.y[index]) if constrained and compared else None
        found.append((*modes(part.space, belief), *sure[::-1], _evidence(part, belief), given))
    columns = list(zip(*found, strict=True))
    found.clear()  # so that at most one column is in memory twice
    *predicted, best, sureness, evidence, given = (_joined_rows(columns.pop(0)) for _ in range(len(columns)))
    return Reading(predicted, best, sureness, evidence, given)  # type: ignore[arg-type]


def _constrained(part: Part, belief: Any, y: Tensor) -> Tensor | None:
    """The most probable z ∈ S_y; if S_y is empty or a search gave up, the unconstrained prediction."""
    inverse, z = part.task.inverse, cast(Tensor, belief.mode())
    if not finds_mode(inverse):
        return None
    rest = (~part.task.feasible(z, y)).nonzero().flatten()
    while len(rest):
        try:
            best = most_probable(inverse, Target(belief.rows(rest), y[rest], 1.0))
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
    return part.task.inverse.law(Target(belief, y, 1.0)).log_mass(quiet=True)


def all_figures(parts: Sequence[Part], readings: Sequence[Reading]) -> Json:
    """The task's metrics, then further figures of :func:`symbol_figures`."""
    own = averaged([(part, measured(part, found.predicted)) for part, found in zip(parts, readings, strict=True)])
    own |= constrained_figures(parts, readings)
    return own | {name: value for name, value in symbol_figures(parts, readings).items() if name not in own}


def constrained_figures(parts: Sequence[Part], readings: Sequence[Reading]) -> Json:
    """The task's metrics of readings under the rule, ``constrained_…``, if there are such readings.

    If a distribution gives the readings, their answers are correct by construction, so figures without true symbols are
    left out. A search may give up, so its share of correct answers is measured. Several shapes are averaged.
    """
    found = []
    for part, reading in zip(parts, readings, strict=True):
        if reading.constrained is None:
            return {}
        given = part.task.figures(reading.constrained, part.y, part.data.symbols)
        if part.task.inverse.exact:
            certain = part.task.figures(reading.constrained[:1], part.y[:1], None)
            given = {name: value for name, value in given.items() if name not in certain}
        found.append((part, given))
    means = averaged(found)
    return flat_names({name: means[name] for name in found[0][1] if name in means}, reading="constrained")


def symbol_figures(parts: Sequence[Part], readings: Sequence[Reading]) -> dict[str, float]:
    """Accuracy, macro-F1, collapse and calibration error of symbols; empty for reals or unknown symbols.

    F1, collapse and calibration error of several shapes count all sites together; the accuracy is an average over
    examples, as a task's own metrics are.
    """
    sites, task = sites_of(parts, readings), parts[0].task
    if not sites:
        return {}
    of = [_figures(each, len(task.space.symbols), task.nameless_symbols) for each in (*sites, _joined(sites))]
    found = averaged(list(zip(parts, of, strict=False)))
    found |= {name: value for name, value in of[-1].items() if not name.endswith("_accuracy")}
    if task.detects is not None:
        wanted = task.constraint.encode([task.detects])
        evidence = [found.evidence.cpu() for found in readings if found.evidence is not None]
        found["answer_auroc"] = auroc(torch.cat(evidence), torch.cat([part.y.cpu() == wanted for part in parts]))
    return found


def reliability_of(parts: Sequence[Part], readings: Sequence[Reading]) -> Reliability | None:
    """The bins behind the calibration error."""
    if not (sites := sites_of(parts, readings)):
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
    return flat_names(figures, reading="relabelled" if nameless else "")


def _named(sites: Sites, symbols: int, nameless: bool) -> Sites:
    """Apply the renaming that agrees best, if the rule determines symbols only up to renaming."""
    if not nameless:
        return sites
    names = best_relabelling(sites.predicted, sites.truth, symbols)
    return sites._replace(predicted=names[sites.predicted], likeliest=names[sites.likeliest])


def sites_of(parts: Sequence[Part], readings: Sequence[Reading]) -> list[Sites]:
    """The sites of each part; empty unless all true symbols are known."""
    if not parts[0].space.categorical or any(part.data.symbols is None for part in parts):
        return []
    found = []
    for part, reading in zip(parts, readings, strict=True):
        codes: list[Any] = [part.data.symbols, reading.predicted[0], reading.likeliest]
        truth, read_part, best = (numbered(part.space, each.cpu()).flatten() for each in codes)
        found.append(Sites(truth, read_part, best, reading.confidence.cpu().flatten()))  # type: ignore[union-attr]
    return found


def _joined(sites: list[Sites]) -> Sites:
    return Sites(*(torch.cat(column) for column in zip(*sites, strict=True)))
