"""A picture of a run: how accuracy grew, and what the network reads on held-out images."""

from __future__ import annotations

import importlib.util
import io
from pathlib import Path
from typing import Any

from torch import Tensor
from torch.utils.data import Dataset

from ..data import Examples
from ..files import replace_file
from ..learner import Learner
from ..spaces.categorical import Categorical

INK, RIGHT, WRONG = "#444444", "#1a7f37", "#cf222e"


def draw_result(path: Path, learner: Learner, test: Dataset[Any], count: int = 4) -> bool:
    """Draw a fitted learner where matplotlib (the extra ``plots``) is installed and the inputs are in memory."""
    if importlib.util.find_spec("matplotlib") is None or not isinstance(test, Examples):
        return False
    some = test.subset(count)
    predicted = learner.predict_codes(some.x)
    y = learner.task.constraint.encode(list(some.y)).to(predicted.device)
    draw(path, learner.history_, learner.task.space, some.x, predicted, learner.task.feasible(predicted, y))
    return True


def draw(path: Path, history: list[dict[str, Any]], space: Any, x: Tensor, predicted: Tensor, feasible: Tensor) -> None:
    """Write a PNG: curves over the epochs and, for images of symbols, a gallery of predictions.

    Parameters
    ----------
    history
        The run's records, as in ``metrics.jsonl``.
    x
        Some held-out inputs; drawn where they are images ``[examples, sites, 1, height, width]``.
    predicted, feasible
        The network's symbols for them, and whether they give the right answer (green) or not (red).
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    gallery = space.categorical and x.dim() == 5 and x.shape[2] == 1
    figure, axes = pyplot.subplots(1, 1 + gallery, figsize=(5 + 5 * gallery, 4.2), dpi=110, squeeze=False)
    _curves(axes[0][0], history)
    if gallery:
        _gallery(axes[0][1], space, x, predicted, feasible)
    figure.tight_layout()
    drawn = io.BytesIO()
    figure.savefig(drawn, format="png")
    pyplot.close(figure)
    replace_file(path, drawn.getvalue())


def _curves(axis: Any, history: list[dict[str, Any]]) -> None:
    names = {"grounded_symbols": "training symbols grounded", "test_symbol_accuracy": "test symbols"}
    keys = [k for k in dict.fromkeys(k for r in history for k in r) if k.startswith("test_") or k in names]
    for key in keys:
        points = [(i + 1, 100 * r[key]) for i, r in enumerate(history) if r.get(key) is not None]
        if all(0 <= value <= 100 for _, value in points):
            label = names.get(key, key.removeprefix("test_").replace("_", " "))
            axis.plot(*zip(*points, strict=True), label=label, lw=2)
    for i in range(1, len(history)):
        if history[i]["stage"] != history[i - 1]["stage"]:
            axis.axvline(i + 0.5, color=INK, ls=":", lw=1)
    axis.xaxis.get_major_locator().set_params(integer=True)
    axis.set(xlabel="epoch", ylabel="%", ylim=(0, 101), title="Learnt from answers alone")
    axis.grid(alpha=0.3)
    axis.legend(loc="lower right", frameon=False)


def _gallery(axis: Any, space: Categorical, x: Tensor, predicted: Tensor, feasible: Tensor) -> None:
    shown = {"*": "×", "/": "÷", "-": "−"}
    rows, sites = x.shape[0], x.shape[1]
    axis.set_title("Held-out images, and what the network reads")
    axis.axis("off")
    for row, symbols in enumerate(space.decode(predicted)):
        top = 1.6 * row
        for site in range(sites):
            frame = (site + 0.06, site + 0.94, top + 0.94, top + 0.06)
            axis.imshow(x[row, site, 0].cpu().numpy(), cmap="gray_r", extent=frame, interpolation="bilinear")
            text = shown.get(str(symbols[site]), str(symbols[site]))
            colour = RIGHT if bool(feasible[row]) else WRONG
            axis.text(site + 0.5, top + 1.22, text, ha="center", va="center", color=colour, fontsize=13, weight="bold")
    axis.set(xlim=(0, sites), ylim=(1.6 * rows, 0))  # last: every image sets limits of its own
