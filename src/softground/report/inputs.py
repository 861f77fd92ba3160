"""An input as a person can look at it: images as PNG, graphs and values in a few words."""

import base64
import io
from typing import Any

import torch
from torch import Tensor

from .findings import Input

SMALLEST, LARGEST = 4, 96  # sides of an image: smaller is a vector, larger is made smaller
MOST_ROWS, MOST_VALUES, MOST_TEXT = 8, 10, 300


def look_at(x: Any, sites: int) -> Input:
    """One input of a data set."""
    if isinstance(x, dict):
        return Input(text=_cut("; ".join(f"{key}: {_words(value)}" for key, value in x.items())))
    values = _values(x)
    frames = None if values is None else images(values, sites)
    return Input(text=_words(x)) if frames is None else _pictured(frames)


def _values(x: Any) -> Tensor | None:
    """An input's numbers; None for anything else."""
    try:
        return torch.as_tensor(x).detach().cpu()
    except (TypeError, ValueError, RuntimeError):
        return None


def images(x: Tensor, sites: int) -> Tensor | None:
    """``[images, channels, height, width]`` where an input is images: one per site, or one of everything."""
    if x.dim() == 2 and x.dtype == torch.uint8:
        x = x[None]
    if x.dim() == 3 and x.shape[0] == sites and sites not in (1, 3):
        x = x[:, None] if x.dtype == torch.uint8 or min(x.shape[1:]) >= 2 * SMALLEST else x
    if x.dim() == 3:
        x = x[None]
    fits = x.dim() == 4 and x.shape[1] in (1, 3) and min(x.shape[2:]) >= SMALLEST
    return x if fits and not x.is_complex() else None


def _pictured(frames: Tensor) -> Input:
    """PNG images, base64; grey ones are inverted where needed to show dark ink on white."""
    if frames.dtype != torch.uint8:
        low, high = min(0.0, float(frames.min())), max(1.0, float(frames.max()))
        frames = ((frames.double() - low) * (255 / (high - low))).round().clamp(0, 255).to(torch.uint8)
    grey = frames.shape[1] == 1
    if grey and float(frames.float().mean()) < 127.5:
        frames = 255 - frames
    return Input(images=[png(frame) for frame in frames], ink=grey)


def png(frame: Tensor) -> str:
    """An image ``[1 or 3, height, width]`` of bytes as base64 PNG.

    >>> png(torch.zeros(1, 4, 4, dtype=torch.uint8))[:11]
    'iVBORw0KGgo'
    """
    from PIL import Image

    pixels = frame[0] if len(frame) == 1 else frame.permute(1, 2, 0)
    picture = Image.fromarray(pixels.contiguous().numpy())
    picture.thumbnail((LARGEST, LARGEST))
    file = io.BytesIO()
    picture.save(file, "PNG", optimize=True)
    return base64.b64encode(file.getvalue()).decode("ascii")


def _words(x: Any) -> str:
    """An input in a few words; a symmetric matrix without a diagonal is a graph's weights."""
    values = _values(x)
    if values is None:
        return _cut(str(x))
    if values.dim() < 2:
        return _row(values.flatten())
    square = values.dim() == 2 and 3 <= len(values) == values.shape[1] and not values.diagonal().any()
    if square and values.any() and (values == values.T).all() and (values >= 0).all():
        return f"a graph of {len(values)} vertices and {int((values != 0).sum()) // 2} edges"
    rows = values.flatten(1)
    return "\n".join([*map(_row, rows[:MOST_ROWS]), *(["…"] if len(rows) > MOST_ROWS else [])])


def _row(values: Tensor) -> str:
    """Numbers in a row.

    >>> _row(torch.tensor([1.0, 0.25, -3.14159]))
    '1, 0.25, -3.14'
    """
    shown = ", ".join(f"{v:.3g}" if isinstance(v, float) else str(v) for v in values[:MOST_VALUES].tolist())
    return shown + (f", … ({len(values)} values)" if len(values) > MOST_VALUES else "")


def _cut(text: str) -> str:
    return text if len(text) <= MOST_TEXT else text[: MOST_TEXT - 1] + "…"
