"""What a Sudoku prediction is worth.

Without clues the rule does not tell digits apart. So the paper's accuracy is the validity of the predicted board, and
accuracies against the truth are given under the one renaming of the digits that agrees best (see
:func:`softground.metrics.best_relabelling`).
"""

from __future__ import annotations

from torch import Tensor

from ...metrics import best_relabelling


def sudoku_metrics(predicted: Tensor, feasible: Tensor, symbols: Tensor | None) -> dict[str, float]:
    """Share of valid boards; where the truth is known, of right boards and symbols under the best relabelling."""
    result = {"board_accuracy": feasible.double().mean().item()}
    if symbols is not None:
        right = best_relabelling(predicted, symbols)[predicted] == symbols
        result["relabelled_board_accuracy"] = right.all(-1).double().mean().item()
        result["relabelled_symbol_accuracy"] = right.double().mean().item()
    return result
