"""Transition matrices of kernels, and whether everything can be reached by them."""

from __future__ import annotations

from torch import Tensor, eye, float64

from papers.li2023.outcomes import Replay, every_path, transition_matrix


def reaches_everything(matrix: Tensor) -> bool:
    """Whether every state can be reached from every other in some number of steps."""
    step = (matrix > 0).double() + eye(len(matrix), dtype=float64)
    for _ in range(len(matrix).bit_length()):
        step = ((step @ step) > 0).double()
    return bool((step > 0).all())


__all__ = ["Replay", "every_path", "reaches_everything", "transition_matrix"]
