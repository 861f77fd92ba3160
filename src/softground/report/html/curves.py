"""The curves of a run: which of its metrics belong together, how each picture is read, and where the time went."""

from collections.abc import Mapping, Sequence
from itertools import groupby, pairwise
from typing import Any, NamedTuple

from ..numbers import is_number, is_share, spoken
from ..progress import title
from .lines import Chart, Epochs, Line, colour, numbers, shares, spans

Records = Sequence[Mapping[str, Any]]
# Metrics of one picture: the name of its line, and what it means.
TRAINING = {
    "feasible": ("feasible", "feasible: predictions that explain their answer, for which no label is needed."),
    "grounded_symbols": ("grounded", "grounded: chains at the true symbol; chains never see it."),
    "train_symbol_accuracy": ("symbols", "symbols: predictions at the true symbol."),
}
FROZEN = "moved: chains that a step changed; near zero they are frozen, which is fine once they are right."
CHAINS = {
    "acceptance": ("acceptance", "acceptance: proposals taken."),
    "moved": ("moved", FROZEN),
    "unknown": ("unknown", "unknown: the solver gave up."),
    "used": ("used", "used: examples that Stage II learnt from."),
}
GAMMA = "The temperature of Q*: at ∞ chains wander freely over S_y, at 1 they follow the network, at 0 they take its "
GAMMA += "best feasible guess."
LOSS = "−log P(z|x) per site: how surprised the network is by what it is taught."
SOLVER = "Queries since the run was last begun or resumed; their chains stayed where they were."
COUNTS = {
    "unexplained": "Training examples whose answer no symbols explain; nothing was learnt from them.",
    "unstarted": "Training examples for which no feasible symbols are known yet; the network is asked in every epoch.",
}
PLACED = {"stage", "epoch", "gamma", "loss", "seconds", *TRAINING, *CHAINS}

# Colour, name, meaning.
PARTS = {
    "network": ("c1", "network", "forward and backward passes, and the optimiser"),
    "sampling": ("c2", "sampling", "kernel steps, the solver's time aside"),
    "solver": ("c3", "solver", "the inverse projection: Z3, or what stands for it"),
    "rest": ("c6", "the rest", "reading data, evaluation, bookkeeping"),
}
RISING = "Seconds per epoch; a rising line is a solver or a machine in trouble."


def curves(history: Records) -> list[Chart]:
    """A chart for each group of metrics that the records have values for."""
    epochs = epochs_of(history)
    held_out, validation = (
        {k: (spoken(k.removeprefix("validation_")), "") for k in keys(history) if k.startswith(part) and is_share(k)}
        for part in ("test_", "validation_")
    )
    chains = {k: v for k, v in CHAINS.items() if any(p[1] for p in points(history, k))}
    charts = [
        _shares(history, epochs, held_out, "Held-out data", "Examples that the network has never seen."),
        _shares(
            history, epochs, validation, "Validation part", "Training examples held out: nothing is learnt from them."
        ),
        _shares(history, epochs, TRAINING, "Training data"),
        _gamma(history, epochs),
        numbers("Loss", LOSS, [Line("", "c1", points(history, "loss"))], epochs),
        _shares(history, epochs, chains, "Chains"),
    ]
    for key in keys(history):
        if key not in PLACED | held_out.keys() | validation.keys():
            apart = key.startswith(("test_", "validation_"))
            where = "On held-out data, after each epoch." if apart else "The mean of each epoch."
            where = SOLVER if key.startswith("solver_") else COUNTS.get(key, where)
            line = Line("", "c1", points(history, key))
            charts.append(numbers(spoken(key).capitalize(), where, [line], epochs))
    return [chart for chart in charts if chart.lines or chart.bands]


def keys(history: Records) -> list[str]:
    """Every metric that has a number in some epoch, in order of appearance."""
    return list(dict.fromkeys(k for record in history for k, value in record.items() if is_number(value)))


def points(history: Records, key: str) -> list[tuple[int, float]]:
    """A metric's values by epoch, counted through the stages from 1."""
    return [(i, float(r[key])) for i, r in enumerate(history, start=1) if is_number(r.get(key))]


def epochs_of(history: Records) -> Epochs:
    """The axis: stages in order."""
    named = [(i, title(str(record.get("stage", "?")))) for i, record in enumerate(history, start=1)]
    return Epochs(max(1, len(history)), [next(group) for _, group in groupby(named, lambda pair: pair[1])])


def _shares(
    history: Records, epochs: Epochs, names: Mapping[str, tuple[str, str]], heading: str, lede: str = ""
) -> Chart:
    """Shares in one picture; by default the lede says what each of them means."""
    lines = [Line(name, colour(place), points(history, key)) for place, (key, (name, _)) in enumerate(names.items())]
    meanings = [meaning for line, (_, meaning) in zip(lines, names.values(), strict=True) if line.points]
    return shares(heading, lede or " ".join(meanings), lines, epochs)


def _gamma(history: Records, epochs: Epochs) -> Chart:
    """γ, where ∞ and (on a logarithmic scale) 0 are bands rather than points."""
    found = points(history, "gamma")
    positive = [(i, v) for i, v in found if v > 0]
    infinite = [i for i, r in enumerate(history, start=1) if "gamma" in r and r["gamma"] is None]
    bands = [(*ends, "γ = ∞") for ends in _runs(infinite)]
    if not positive or spans([v for _, v in positive]):
        bands += [(*ends, "γ = 0") for ends in _runs([i for i, v in found if v == 0])]
        found = positive
    return numbers("Temperature γ", GAMMA, [Line("γ", "c1", found)], epochs, bands)


def _runs(epochs: list[int]) -> list[tuple[int, int]]:
    """Neighbouring epochs as (first, last).

    >>> _runs([1, 2, 3, 7])
    [(1, 3), (7, 7)]
    """
    cuts = [0, *(k for k, (a, b) in enumerate(pairwise(epochs), start=1) if b != a + 1), len(epochs)]
    return [(epochs[a], epochs[b - 1]) for a, b in pairwise(cuts)] if epochs else []


class Timing(NamedTuple):
    """Parts as (colour, name, meaning, seconds in all), and a line for each by epoch; 0 where nothing was timed."""

    parts: list[tuple[str, str, str, float]]
    total: float
    chart: Chart


def timing(history: Records) -> Timing:
    """The time of a run."""
    epochs = [(i, split(r["seconds"])) for i, r in enumerate(history, 1) if isinstance(r.get("seconds"), Mapping)]
    parts = [(*words, sum(epoch[part] for _, epoch in epochs)) for part, words in PARTS.items()]
    lines = [Line(words[1], words[0], [(i, epoch[part]) for i, epoch in epochs]) for part, words in PARTS.items()]
    high = max((value for line in lines for _, value in line.points), default=0.0) or 1.0
    chart = Chart("Epoch by epoch", RISING, lines, epochs_of(history), "{:.3g} s".format, 0.0, high)
    return Timing(parts, sum(spent for *_, spent in parts), chart)


def split(spent: Mapping[str, Any]) -> dict[str, float]:
    """Seconds by part, with what no part accounts for.

    >>> split({"network": 3.0, "sampling": 1.0, "solver": 0.0, "total": 5.0})
    {'network': 3.0, 'sampling': 1.0, 'solver': 0.0, 'rest': 1.0}
    """
    known = {k: max(0.0, float(v)) for k, v in spent.items() if is_number(v)}
    parts = {part: known.get(part, 0.0) for part in ("network", "sampling", "solver")}
    return parts | {"rest": max(0.0, known.get("total", 0.0) - sum(parts.values()))}
