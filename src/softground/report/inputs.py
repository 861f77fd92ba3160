"""An input as a person can look at it: images as PNG, graphs and values in a few words."""

from __future__ import annotations

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
    if isinstance(x, str):
        return Input(text=_cut(x))
    if isinstance(x, dict):
        return Input(text=_cut("; ".join(f"{key}: {_words(value)}" for key, value in x.items())))
    try:
        values = torch.as_tensor(x).detach().cpu()
    except (TypeError, ValueError, RuntimeError):
        return Input(text=_cut(str(x)))
    frames = images(values, sites)
    if frames is None:
        return Input(text=_words(values))
    pictures, ink = _pictures(frames)
    return Input(images=pictures, ink=ink)


def images(x: Tensor, sites: int) -> Tensor | None:
    """``[images, channels, height, width]`` where an input is images: one a site, or one of everything."""
    if x.dim() == 2 and x.dtype == torch.uint8:
        x = x[None]
    if x.dim() == 3 and x.shape[0] == sites and sites not in (1, 3):
        x = x[:, None] if x.dtype == torch.uint8 or min(x.shape[1:]) >= 2 * SMALLEST else x
    if x.dim() == 3:
        x = x[None]
    fits = x.dim() == 4 and x.shape[1] in (1, 3) and min(x.shape[2:]) >= SMALLEST
    return x if fits and not x.is_complex() else None


def _pictures(frames: Tensor) -> tuple[list[str], bool]:
    """PNG images, base64; grey ones as dark ink on white, whichever way round they were."""
    if frames.dtype != torch.uint8:
        low, high = min(0.0, float(frames.min())), max(1.0, float(frames.max()))
        frames = ((frames.double() - low) * (255 / (high - low))).round().clamp(0, 255).to(torch.uint8)
    grey = frames.shape[1] == 1
    if grey and float(frames.float().mean()) < 127.5:
        frames = 255 - frames
    return [png(frame) for frame in frames], grey


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


def _words(value: Any) -> str:
    """Values in a few words."""
    if not isinstance(value, Tensor):
        if not hasattr(value, "shape") and not isinstance(value, list | tuple):
            return _cut(str(value))
        try:
            value = torch.as_tensor(value)
        except (TypeError, ValueError, RuntimeError):
            return _cut(str(value))
    if value.dim() == 2 and is_graph(value):
        return f"a graph of {len(value)} vertices and {int((value != 0).sum()) // 2} edges"
    if value.dim() <= 1:
        return _row(value.flatten())
    rows = value.flatten(1)
    lines = [_row(row) for row in rows[:MOST_ROWS]]
    return "\n".join(lines) + ("\n…" if len(rows) > MOST_ROWS else "")


def is_graph(weights: Tensor) -> bool:
    """Whether a matrix can be read as an undirected graph's weights: square, symmetric, no loops."""
    rows, columns = weights.shape
    if rows != columns or rows < 3 or bool(weights.diagonal().any()):
        return False
    return bool((weights == weights.T).all()) and bool((weights >= 0).all()) and bool(weights.any())


def _row(values: Tensor) -> str:
    """Numbers beside each other.

    >>> _row(torch.tensor([1.0, 0.25, -3.14159]))
    '1, 0.25, -3.14'
    """
    shown = ", ".join(f"{v:.3g}" if isinstance(v, float) else str(v) for v in values[:MOST_VALUES].tolist())
    return shown + (f", … ({len(values)} values)" if len(values) > MOST_VALUES else "")


def _cut(text: str) -> str:
    return text if len(text) <= MOST_TEXT else text[: MOST_TEXT - 1] + "…"
