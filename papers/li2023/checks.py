"""Claims in the text and Proposition 1, as tables."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Callable

from . import published
from .claims import WALKS
from .layout import OURS
from .plan import TABLES
from .proposition import GAMMAS, LONG, STEPS
from .summary import Figure, Record, Results
from .tables import NONE, markdown, shown

KERNELS = {
    "metropolis": "the paper's, solver's choice at random",
    "first": "the paper's, solver's choice always the same",
    "collapsed": "`Collapsed`, exact for Q\\*",
}
TIMES = (
    "The paper's milliseconds are of processes at work together (joblib), on a machine that it does not name; ours are "
    "of one process on one of two CPU cores, which other work shared. All completions of a formula, 81 at most, are "
    "found by evaluating its Z3 form for each, without search; the other rows are searches."
)
MANY = (300, 500)  # 'with the number of training puzzles increased'


def claims(results: Results, wanted: tuple[str, ...]) -> list[str]:
    """Every claim a row, the paper's figure beside ours."""
    rows: list[list[str]] = []
    if "hwf" in wanted:
        jumps = f"{published.JUMPS:g} %"
        for walks, what in ((1, "one walk over the data"), (WALKS, f"T = {WALKS} walks, an epoch of ours")):
            ours = results.over("hwf/jump", _moved(walks))
            text = f"solutions that jump in an epoch at γ₀ = 1 (Section 5.1), untrained network: {what}"
            rows.append([text, jumps, _share(ours), _seeds(ours)])
        trained = results.over("hwf/standard/exp", lambda r: 100 * r["annealing"]["moved"] if r["annealing"] else None)
        text = f"the same in training, first epoch after the warm-up, {WALKS} walks"
        rows.append([text, jumps, _share(trained), _seeds(trained)])
    low, high = published.Z3_MILLISECONDS
    for task in [task for task in TABLES if task in wanted]:
        for query, what in (("one", "one completion"), ("whole", "all completions")):
            ours = results.over(f"{task}/z3", _milliseconds(query))
            if query == "one" or ours is not None:
                text = f"Z3, milliseconds per inversion (Section 5), {task}: {what}, one process"
                each = results.each(f"{task}/z3", _milliseconds(query))
                middle = NONE if ours is None else f"{statistics.median(each):.1f} ms (median)"
                rows.append([text, f"{low}–{high} ms", middle, _seeds(ours)])
    if "sudoku" in wanted:
        for size in MANY:
            families = [f"sudoku/{size}/{row.method}" for row in OURS if row.stage == "II"]
            shares = [results.grounded(family, "II") for family in families]
            found = [100 * s.mean / size for s in shares if s is not None]
            rows.append(
                [
                    f"training boards grounded after Stage I + II (Section 5.2), {size} boards, three schedules",
                    f"> {published.GROUNDED_SHARE:g} %",
                    NONE if not found else f"{min(found):.1f}–{max(found):.1f} %",
                    results.seeds(families),
                ]
            )
    lines = markdown(["claim", "paper", "ours", "seeds"], rows)
    return [*lines, "", TIMES] if _timed(results, wanted) else lines


def _timed(results: Results, wanted: tuple[str, ...]) -> list[str]:
    """Which tasks' inversions were timed."""
    return [task for task in wanted if f"{task}/z3" in results.families]


def proposition(results: Results) -> list[str]:
    """Distances against γ and the number of dropped sites, and against T; the gradient's bias."""
    records = results.families.get("proposition", [])
    if not records:
        return ["Not measured yet."]
    found: dict[tuple[str, int, float, int], list[float]] = defaultdict(list)
    biases: dict[tuple[str, float], list[float]] = defaultdict(list)
    for record in records:
        for row in record["result"]["rows"]:
            found[row["kernel"], row["dropped"], row["gamma"], row["steps"]].append(row["distance"])
            if (row["dropped"], row["steps"]) == (2, 10):
                biases[row["kernel"], row["gamma"]].append(row["bias"])

    def cell(kernel: str, dropped: int, gamma: float, steps: int) -> str:
        figure = Figure.of(found[kernel, dropped, gamma, steps])
        return NONE if figure is None else f"{figure.mean:.3f}"

    def bias(kernel: str, gamma: float) -> str:
        figure = Figure.of(biases[kernel, gamma])
        return NONE if figure is None else f"{figure.mean:.3f}"

    dropped = sorted({key[1] for key in found})
    sizes = ", ".join(str(record["result"]["states"]) for record in records)
    lines = [
        f"Total variation between the chain's law and Q\\*, mean over all starts and {len(records)} problem(s) with "
        f"|S_y| = {sizes} (formulas of five symbols, random outputs).",
        "",
    ]
    gammas = [gamma for gamma in GAMMAS if gamma in (1.0, 0.2, 0.02)]
    header = ["kernel", "dropped", *(f"γ = {g:g}, T = {t}" for t in ("10", "10⁶") for g in gammas)]
    lines += markdown(
        header,
        (
            [text, str(d), *(cell(kernel, d, g, t) for t in (10, LONG) for g in gammas)]
            for kernel, text in KERNELS.items()
            for d in dropped
        ),
    )
    lines += ["", "Against T, with two sites dropped (the paper's projection) at γ = 1:", ""]
    header = ["kernel", *(f"T = {t:,}" for t in STEPS), "T = 10⁶"]
    lines += markdown(
        header, ([text, *(cell(kernel, 2, 1.0, t) for t in (*STEPS, LONG))] for kernel, text in KERNELS.items())
    )
    warm, cold = GAMMAS[0], GAMMAS[-1]
    most = dropped[-1]
    lines += [
        "",
        "The paper remarks that the bias is 'gradually wiped out' in training as γ falls. "
        f"From γ = {warm:g} to γ = {cold:g} the distance after ten steps of its kernel goes from "
        f"{cell('metropolis', 2, warm, 10)} to {cell('metropolis', 2, cold, 10)} with two sites dropped, "
        f"and with the exact kernel and {most} sites dropped from "
        f"{cell('collapsed', most, warm, 10)} to {cell('collapsed', most, cold, 10)}.",
        "",
        "The gradient's bias itself, ‖Σ_z (Q̂(z) − Q\\*(z)) ∇ log P(z)‖ in the network's outputs, after ten steps from "
        f"the worst start with two sites dropped, at γ = {warm:g} and γ = {cold:g}: "
        + "; ".join(f"{text} {bias(kernel, warm)} and {bias(kernel, cold)}" for kernel, text in KERNELS.items())
        + ". All of this is for one fixed random belief in each problem, averaged over all starts but for the bias; "
        "the paper speaks of training, in which P sharpens as γ falls (below).",
    ]
    return lines


def _moved(walks: int) -> Callable[[Record], float]:
    return lambda result: 100 * float(result["moved"][f"after_{walks}"])


def _milliseconds(query: str) -> Callable[[Record], float | None]:
    return lambda result: result["inversions"].get(query, {}).get("milliseconds")


def _seeds(figure: Figure | None) -> str:
    return NONE if figure is None else str(figure.seeds)


def _share(figure: Figure | None) -> str:
    return NONE if figure is None else f"{shown(figure)} %"


__all__ = ["claims", "proposition"]
