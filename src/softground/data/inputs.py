"""The form of a model's training inputs, so that other inputs are converted to it or refused.

Bytes in training and the same numbers as floats afterwards mean different images to a network that scales bytes. Each
model therefore keeps the type, shape, range, mean and spread of its training inputs, in memory and in saved files.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import DataError
from ..files import typed
from .gathered import Gathered

ROWS = 4096  # rows for the figures
CHANNELS = 64  # the most channels with separate figures
BESIDE, FAR = 0.1, 10.0  # parts of the range by which values lie outside: what is warned of, and what is refused
SHARE = 0.01  # the largest share of values outside
MEANS, SPREADS, SPREAD = 6.0, 0.75, 3.0  # a mean's distance in means' and values' deviations; a ratio of deviations
ENOUGH = 64  # values needed for a spread


@dataclass(frozen=True)
class Inputs:
    """Type, shape and figures by channel of inputs.

    >>> seen = Inputs.of(torch.arange(512, dtype=torch.uint8).view(128, 4))
    >>> seen.dtype, seen.shape, seen.low, seen.mean
    ('uint8', (4,), [0.0, 1.0, 2.0, 3.0], [126.0, 127.0, 128.0, 129.0])
    """

    dtype: str
    shape: tuple[int, ...]
    low: list[float]
    high: list[float]
    mean: list[float]
    spread: list[float]
    apart: list[float]  # the spread of single examples' means
    count: int  # of the values of a channel

    @classmethod
    def of(cls, x: Tensor | Gathered) -> Inputs:
        """Compute the form of some inputs."""
        values = _by_channel(x)
        means = values.mean(1)
        figures = values.amin((0, 1)), values.amax((0, 1)), means.mean(0), values.std((0, 1), correction=0)
        low, high, mean, spread, apart = (each.tolist() for each in (*figures, means.std(0, correction=0)))
        return cls(_name(x), tuple(x.shape[1:]), low, high, mean, spread, apart, values[..., 0].numel())

    def facts(self) -> dict[str, Any]:
        """The facts for a saved document."""
        return asdict(self) | {"shape": list(self.shape)}

    @classmethod
    def read(cls, found: Any) -> Inputs | None:
        """Read from a document, which may be older than figures; raises ValueError for impossible figures."""
        seen: Inputs | None = None if found is None else typed(cls, found | {"shape": tuple(found["shape"])})
        if seen is not None and not isinstance(getattr(torch, seen.dtype, None), torch.dtype):
            raise ValueError(f"{seen.dtype!r} is not a type of number")
        return seen

    def reading(self, x: Tensor | Gathered, network: nn.Module) -> Callable[[Tensor], Tensor] | None:
        """A function that converts inputs like ``x`` to the form of the training inputs; None if none is needed.

        Raises DataError for inputs of another kind, and warns if they look different.
        """
        if x.dim() != len(self.shape) + 1:
            raise DataError(
                f"Inputs of shape {tuple(x.shape)} were given; expected (examples, {', '.join(map(str, self.shape))}), "
                "as in training. Reshape them."
            )
        turn, values = self._turn(x, network), _by_channel(x)
        if values.shape[2] == len(self.low):
            self._compare(values if turn is None else _by_channel(turn(_some(x))))
        return turn

    def _turn(self, x: Tensor | Gathered, network: nn.Module) -> Callable[[Tensor], Tensor] | None:
        floats, own = x.dtype.is_floating_point, getattr(torch, self.dtype)
        if x.dtype == own or (floats and own.is_floating_point):
            return None
        values = _by_channel(x)
        low, high = float(values.amin()), float(values.amax())
        if own.is_floating_point:
            parts = x.dtype == torch.uint8 and high > 1 and min(self.low) >= 0 and max(self.high) <= 1
            return lambda x: x.to(own) / 255 if parts else x.to(own)
        scale = 255 if floats and own == torch.uint8 and low >= 0 and high <= 1 < max(self.high) else 1
        limits = (0, 1) if own == torch.bool else (torch.iinfo(own).min, torch.iinfo(own).max)
        if limits[0] <= scale * low and scale * high <= limits[1] and bool(_whole(scale * values)):
            return lambda x: (x * scale).round().to(own)
        if scale == 255 and any(getattr(module, "image_by_image", False) for module in network.modules()):
            return None  # bytes are scaled to 0 … 1 there
        raise DataError(
            f"Inputs are {_name(x)} from {low:g} to {high:g}; the model was trained on {self.dtype} from "
            f"{min(self.low):g} to {max(self.high):g}. Give the same numbers as in training."
        )

    def _compare(self, values: Tensor) -> None:
        """Refuse numbers far from those in training, and warn if they look different."""
        figure = {name: torch.tensor(getattr(self, name)) for name in ("low", "high", "mean", "spread", "apart")}
        width = (figure["high"] - figure["low"]).double()
        width = torch.where(width > 0, width, width.max().clamp(min=1e-30))
        enough = min(values[..., 0].numel(), self.count) >= ENOUGH

        def outside(share: float) -> bool:
            out = (values < figure["low"] - share * width) | (values > figure["high"] + share * width)
            return float(out.double().mean()) > SHARE

        mean, spread = values.mean((0, 1)), values.std((0, 1), correction=0)
        own, ranged = f"{float(values.amin()):.3g} … {float(values.amax()):.3g}", f"{min(self.low):.3g} … "
        ranged += f"{max(self.high):.3g}, mean {float(figure['mean'].mean()):.3g}"
        said = f"Inputs have the range {own}, mean {float(mean.mean()):.3g}; in training it was {ranged}."
        if outside(FAR):
            raise DataError(f"{said} Scale them as in training.")
        off = (mean - figure["mean"]).abs() > torch.maximum(MEANS * figure["apart"], SPREADS * figure["spread"])
        ratio = spread.mean() / figure["spread"].mean().clamp(min=1e-30)
        flat = enough and float(figure["spread"].mean()) > 0 and not 1 / SPREAD <= float(ratio) <= SPREAD
        if outside(BESIDE + 10 / self.count**0.5) or bool(off.double().mean() > 0.5) or flat:
            warnings.warn(f"{said} Scale them as in training, if they were not meant to differ.", stacklevel=2)


def _some(x: Tensor | Gathered) -> Tensor:
    """Some of the inputs, evenly spread over the data."""
    step = max(1, len(x) // ROWS)
    return x[slice(0, ROWS * step, step)].detach()


def _by_channel(x: Tensor | Gathered) -> Tensor:
    """Some inputs as ``[examples, values, channels]``: features of a row, channels of an image, or all as one."""
    some = _some(x).double()
    axis = {2: 1, 3: 2, 4: 1, 5: 2}.get(some.dim(), 0)
    if not axis or some.shape[axis] > CHANNELS:
        return some.flatten(1)[..., None] if some.dim() > 1 else some[:, None, None]
    return some.movedim(axis, -1).flatten(1, -2) if some.dim() > 2 else some[:, None]


def _whole(values: Tensor) -> Tensor:
    return ((values - values.round()).abs() < 1e-3).all()


def _name(x: Any) -> str:
    return str(x.dtype).split(".")[-1]


def first_not_finite(x: Any) -> tuple[int, ...] | None:
    """The place of the first NaN or infinity: an example and a place in it; None if all are finite."""
    if not isinstance(x, Tensor | Gathered) or not x.dtype.is_floating_point:
        return None
    held = x.pool if isinstance(x, Gathered) else x
    for start in range(0, len(held), ROWS):
        bad = ~held[start : start + ROWS].isfinite()
        if bool(bad.any()):
            row, *place = bad.nonzero()[0].tolist()
            if isinstance(x, Gathered):
                row, *site = (x.index == row + start).nonzero()[0].tolist()
                return (row, *site, *place)
            return (row + start, *place)
    return None
