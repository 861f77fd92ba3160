"""Predictions for a whole data set, and how good they are."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from ..data.gathered import Gathered
from ..dice import Sampler
from ..errors import LearnerError, NonFiniteOutput, SoftgroundError, SpaceError
from ..networks.layers import RandomLayer
from ..target import Target
from ..task import Task
from ..training import Moment, SoftenedGrounding
from .batches import Batches
from .finite import complaint
from .parts import Part, together

if TYPE_CHECKING:
    from .stage import Stage

BATCH = 256  # examples that are read at once
IMAGES = 2048  # images, where each is read once


def reader(network: nn.Module, device: torch.device) -> nn.Module:
    """The network in evaluation mode on ``device``, without changing the network given.

    That is the network itself if it is already so, as after a fit. Otherwise it is a copy, which shares the parameters
    and buffers if they are on the device.
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
    """Floating-point inputs in the precision of the network's weights; anything else as it is."""
    if not isinstance(x, Tensor) or not x.is_floating_point():
        return x
    return x.to(next((p.dtype for p in network.parameters() if p.is_floating_point()), x.dtype))


def each_once(network: nn.Module, x: Gathered, read: Callable[[Tensor], Any]) -> Any:
    """What ``read`` makes of the examples, by a look at every image of the pool if the network reads one at a time."""
    alone = getattr(network, "image_by_image", False)
    return x.dealt(read(x.pool[:, None])[:, 0]) if alone else read(x[:])


def output_of(network: nn.Module, x: Any) -> Any:
    """What the network gives for inputs x."""
    if isinstance(x, Gathered):
        return each_once(network, x, lambda images: output_of(network, images))
    output = network(like_weights(network, x))
    if isinstance(output, Tensor) and output.dtype in (torch.float16, torch.bfloat16):
        output = output.float()  # sums over S_y need more precision
    return output


def check_rows(output: Any, rows: int) -> None:
    """Refuse an output that has not one row for each of so many inputs."""
    if isinstance(output, Tensor) and output.dim() == 3 and len(output) != rows:
        raise SpaceError(f"The network gave {len(output)} rows for {rows} inputs; expected one row per input.")


def outputs(network: nn.Module, data: Batches) -> Iterator[tuple[Tensor, Any]]:
    """``(positions, output)`` batch by batch; where images recur, each is read once for all batches."""
    held, batches, alone = data.inputs, data.in_order(BATCH), getattr(network, "image_by_image", False)
    if alone and isinstance(held, Gathered) and held.index.numel() >= len(held.pool):
        read = torch.cat([output_of(network, some[:, None])[:, 0] for some in torch.split(held.pool, IMAGES)])
        for index in batches:
            there = index.to(data.device)
            yield there, held.rows(there).dealt(read)
    else:
        for index, x in data.walk(batches):
            yield index, output_of(network, x)


def believe(space: Any, output: Any, index: Tensor) -> Any:
    """P(z|x) of the examples at positions ``index``, by which an output that is not finite is reported."""
    check_rows(output, len(index))
    try:
        return space.belief(output)
    except NonFiniteOutput as error:
        raise complaint(~torch.isfinite(output).flatten(1).all(1), index) from error


@torch.no_grad()
def beliefs(space: Any, network: nn.Module, data: Batches, known: Tensor | None = None) -> Iterator[tuple[Tensor, Any]]:
    """``(positions, P(z|x))`` batch by batch, given the codes of ``known`` symbols, off the gradient tape."""
    for index, output in outputs(reader(network, data.device), data):
        belief = believe(space, output, data.at(index))
        yield index, belief if known is None else belief.given(known[index])


@contextmanager
def misfits(network: nn.Module, parts: Sequence[Part]) -> Iterator[None]:
    """Where torch fails, and a network cannot read the first inputs of a part: say that."""
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
                raise LearnerError(
                    f"The network cannot read inputs of shape {shape}: {reason}. Give one for this shape."
                ) from error
        raise


@torch.no_grad()
def groundings(task: Task, stages: Sequence[Stage], network: nn.Module, data: Batches, y: Tensor) -> Tensor | None:
    """Symbols drawn from Q* as it is now: what stages ground to whose kernel needs no chain. None for other stages.

    Where S_y is empty, what the network reads.
    """
    last = next((s for s in reversed(stages) if isinstance(s.objective, SoftenedGrounding)), None)
    if last is None or not task.inverse.exact or not task.space.categorical:
        return None
    gamma, dice, found = last.objective.numbers(Moment(epoch=last.most - 1))["gamma"], Sampler(0, data.device), []
    for index, belief in beliefs(task.space, network, data, data.known):
        target, z = Target.at(belief, y[index], gamma), belief.mode()
        rows = (task.inverse.law(target).log_mass() > -torch.inf).nonzero().flatten()
        if len(rows):
            law = task.inverse.law(Target.at(belief.rows(rows), y[index[rows]], gamma))
            z = z.index_copy(0, rows, law.draw(dice))
        found.append(z)
    return torch.cat(found)


def predictions(space: Any, network: nn.Module, data: Batches, known: Tensor | None = None) -> Tensor:
    """The most probable symbol vector of every example, ``[examples, sites]``."""
    return torch.cat([belief.mode() for _, belief in beliefs(space, network, data, known)])


def modes(space: Any, belief: Any) -> tuple[Tensor, ...]:
    """The most probable symbol vectors, by both kinds of readings where they differ."""
    return (belief.mode(), belief.other_mode()) if space.mixed else (belief.mode(),)


def evaluate(parts: Sequence[Part], network: nn.Module) -> dict[str, Any]:
    """The task's metrics of a data set in parts; :mod:`softground.learner.figures` has more."""
    found = []
    for part in parts:
        read = [modes(part.space, belief) for _, belief in beliefs(part.space, network, part.data)]
        found.append((part, measured(part, [torch.cat(batches) for batches in zip(*read, strict=True)])))
    return together(found)


def measured(part: Part, predicted: list[Tensor]) -> dict[str, Any]:
    """The task's metrics of what was read in a part, one :func:`modes` after the other.

    Those of the other readings are called ``grammatical_…`` where the network reads all symbols, else ``plain_…``.
    """
    figures, *others = (part.task.figures(z, part.y, part.data.symbols) for z in predicted)
    for other in others:
        kind = "grammatical" if part.space.readings == "all" else "plain"
        figures |= {f"{kind}_{name}": value for name, value in other.items()}
    return figures


def named(part: str, figures: dict[str, Any]) -> dict[str, Any]:
    """Figures by the part of the data that they were measured on: ``test_…``, ``validation_…``."""
    return {f"{part}_{name}": value for name, value in figures.items()}


def results(figures: dict[str, Any]) -> dict[str, Any]:
    """Figures as results and summaries have them: those of the test data by their own names.

    >>> results({"test_symbol_accuracy": 0.9, "validation_symbol_accuracy": 0.8})
    {'symbol_accuracy': 0.9, 'validation_symbol_accuracy': 0.8}
    """
    return {name.removeprefix("test_"): value for name, value in figures.items()}
