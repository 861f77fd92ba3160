"""The curves of a run: which of its metrics belong together, and how each picture is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from ..progress import title
from .lines import Band, Epochs, Line, line_chart
from .markup import Html
from .numbers import is_number, is_share, number, spoken
from .parts import card

Records = Sequence[Mapping[str, Any]]
# Metrics of one picture: the name beside its line, and what it means.
TRAINING = {
    "feasible": ("feasible", "feasible: predictions that explain their answer, for which no label is needed."),
    "grounded_symbols": ("grounded", "grounded: chains at the true symbol; chains never see it."),
    "train_symbol_accuracy": ("symbols", "symbols: predictions at the true symbol."),
}
CHAINS = {
    "acceptance": ("acceptance", "acceptance: proposals taken."),
    "moved": (
        "moved",
        "moved: chains that a step changed; near zero they are frozen, which is fine once they are right.",
    ),
    "unknown": ("unknown", "unknown: the solver gave up."),
    "used": ("used", "used: examples that Stage II learnt from."),
}
SOLVER = "Queries since the run was last begun or resumed; their chains stayed where they were."
PLACED = {"stage", "epoch", "gamma", "loss", "seconds", *TRAINING, *CHAINS}
LOG_FROM = 20.0  # a range of more than this factor is drawn by its logarithm


def curves(history: Records) -> list[Html]:
    """A card per picture, for those that the records have values for."""
    epochs = epochs_of(history)
    held_out = [k for k in keys(history) if k.startswith("test_")]
    seen = {k: (spoken(k), "") for k in held_out if is_share(k)}
    taught = "−log P(z|x) per site: how surprised the network is by what it is taught."
    cards = [
        _shares(history, epochs, seen, "Held-out data", "Examples that the network has never seen, after each epoch."),
        _shares(history, epochs, TRAINING, "Training data"),
        _gamma(history, epochs),
        _number(history, epochs, "loss", "Loss", taught),
        _shares(history, epochs, {k: v for k, v in CHAINS.items() if any(p[1] for p in points(history, k))}, "Chains"),
    ]
    for key in keys(history):
        if key not in PLACED and not (key in held_out and is_share(key)):
            where = "On held-out data, after each epoch." if key in held_out else "The mean of each epoch."
            where = SOLVER if key.startswith("solver_") else where
            cards.append(_number(history, epochs, key, spoken(key).capitalize(), where))
    return [c for c in cards if c is not None]


def keys(history: Records) -> list[str]:
    """Every metric that has a number in some epoch, in order of appearance."""
    return list(dict.fromkeys(k for record in history for k, value in record.items() if is_number(value)))


def points(history: Records, key: str) -> list[tuple[int, float]]:
    """A metric's values by epoch, counted through the stages from 1."""
    return [(i, float(r[key])) for i, r in enumerate(history, start=1) if is_number(r.get(key))]


def epochs_of(history: Records) -> Epochs:
    """The axis: stages in order."""
    stages: list[tuple[int, str]] = []
    for i, record in enumerate(history, start=1):
        if i == 1 or record.get("stage") != history[i - 2].get("stage"):
            stages.append((i, title(str(record.get("stage", "?")))))
    return Epochs(max(1, len(history)), stages)


def percent(value: float) -> str:
    """A share at an axis.

    >>> percent(0.2), percent(0.998), percent(1.0)
    ('20%', '99.8%', '100%')
    """
    return f"{value:.1%}".replace(".0%", "%")


def _shares(
    history: Records, epochs: Epochs, names: Mapping[str, tuple[str, str]], heading: str, lede: str = ""
) -> Html | None:
    """Shares in one picture; by default the lede says what each of them means."""
    lines = [
        Line(name, colour, [(i, v) for i, v in points(history, key) if 0 <= v <= 1])
        for colour, (key, (name, _)) in enumerate(names.items())
    ]
    if not any(line.points for line in lines):
        return None
    meanings = [meaning for line, (_, meaning) in zip(lines, names.values(), strict=True) if line.points]
    chart = line_chart(lines, epochs, percent, label=f"{heading}, in percent by epoch", low=0.0, high=1.0)
    return card(heading, lede or " ".join(meanings), chart)


def _number(history: Records, epochs: Epochs, key: str, heading: str, lede: str) -> Html | None:
    found = points(history, key)
    if not found:
        return None
    values = [v for _, v in found]
    log = min(values) > 0 and max(values) > LOG_FROM * min(values)
    low = None if log or min(values) < 0 else 0.0
    chart = line_chart([Line("", 0, found)], epochs, number, label=f"{heading} by epoch", log=log, low=low)
    return card(heading, lede + (" Logarithmic scale." if log else ""), chart)


def _gamma(history: Records, epochs: Epochs) -> Html | None:
    """γ, where ∞ and (on a logarithmic scale) 0 are bands rather than points."""
    values = [(i, r["gamma"]) for i, r in enumerate(history, start=1) if "gamma" in r]
    found = [(i, float(v)) for i, v in values if is_number(v)]
    if not values:
        return None
    positive = [v for _, v in found if v > 0]
    log = bool(positive) and max(positive) > LOG_FROM * min(positive)
    bands = [Band(*ends, "γ = ∞") for ends in _runs([i for i, v in values if v is None])]
    if log or not positive:
        bands += [Band(*ends, "γ = 0") for ends in _runs([i for i, v in found if v == 0])]
        found = [(i, v) for i, v in found if v > 0]
    lede = (
        "The temperature of Q*: at ∞ chains wander freely over S_y, at 1 they follow the network, at 0 they take its "
    )
    lede += "best feasible guess." + (" Logarithmic scale." if log else "")
    chart = line_chart(
        [Line("γ", 0, found)],
        epochs,
        number,
        label="Temperature by epoch",
        log=log,
        low=None if log else 0.0,
        bands=bands,
    )
    return card("Temperature γ", lede, chart)


def _runs(epochs: list[int]) -> list[tuple[int, int]]:
    """Neighbouring epochs as (first, last).

    >>> _runs([1, 2, 3, 7])
    [(1, 3), (7, 7)]
    """
    cuts = [0, *(k for k, (a, b) in enumerate(pairwise(epochs), start=1) if b != a + 1), len(epochs)]
    return [(epochs[a], epochs[b - 1]) for a, b in pairwise(cuts)] if epochs else []


__all__ = ["curves", "epochs_of", "keys", "percent", "points"]
