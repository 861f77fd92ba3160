"""The paper's statements that are about methods, not about numbers: what the figures here say to them."""

from __future__ import annotations

from . import layout, published
from .epochs import LAST, epoch_figure
from .sudoku import SIZES
from .summary import Figure, Results
from .tables import decimal
from .verdict import lead

COLLAPSED = 10.0  # per cent of right answers, below which a method is said to have collapsed
FIXED = {"ssl": "SSL", "na": "NA"}  # at a temperature that does not fall


def lines(results: Results) -> list[str]:
    """Every statement, and what the figures say to it."""
    said: list[str] = []
    for title, found in (
        (
            "**Annealing**, the best of three schedules against SSL (γ = 1) and NA (γ = 0.001), with as many walks, "
            "the same warm-up and, but on Sudoku, the same Stage II (SSL by Adam 5e-4, the others by SGD 0.1; shortest "
            "paths: all by Adam 1e-3). It is the paper's central claim. *Leads* means, here and below, outside the "
            "95 % interval of the difference of two means (Welch's), against every rival. That the best of three is "
            "taken by the figures that are then compared favours cooling:",
            annealing(results),
        ),
        (
            "**SSL and NA 'collapse'** (here: below 10 % in the last epoch, or in the kept one where that is not on "
            "record), with ten walks to a gradient step and with the authors' settings:",
            collapse(results),
        ),
        (
            "**Hard groundings** 'may easily get trapped into a local optimum', their 'success […] highly dependent on "
            "the quality of the initial model' (Section 2, of problem (2)):",
            hard(results),
        ),
        (
            "**MCMC**, which switches two digits without a projection, is 'significantly outperformed by our "
            "approaches' (Section 5.2); the best of three schedules against it:",
            crude(results),
        ),
        (
            "**'The Log annealing strategy in Stage II cannot obtain a comparable result'**, calculation accuracy:",
            logarithmic(results),
        ),
    ):
        said += [title, "", *(found or ["- not measured."]), ""]
    return said[:-1]


def annealing(results: Results) -> list[str]:
    """Cooling γ against holding it, where walks, warm-up and Stage II are the same."""
    places: list[tuple[str, str, str, tuple[str, ...]]]
    places = [("Formulas, calculation accuracy", "hwf/standard", "calculation_accuracy", ("I", "II"))]
    places += [(f"Sudoku, {size} boards", f"sudoku/{size}", "board_accuracy", ("I",)) for size in SIZES]
    places += [("Shortest paths, of all 30", "sdsp/recursive", "path_accuracy_all", ("I", "II"))]
    lines = []
    for what, table, metric, stages in places:
        for stage in stages:
            cooled = {name: results.test(f"{table}/{method}", stage, metric) for name, method in layout.SCHEDULES}
            held = {name: results.test(f"{table}/{method}", stage, metric) for method, name in FIXED.items()}
            best = _best(cooled)
            if best is not None and any(held.values()):
                after = "both stages" if stage == "II" else "Stage I"
                verdict = _judged(best, held, "cooling leads", "holding leads", "neither leads")
                if stage == "II" and verdict in ("holding leads", "neither leads"):
                    verdict += ", so that with equal treatment annealing buys nothing here after Stage II"
                lines.append(f"- {what}, after {after}: {verdict}. Cooled: {_all(cooled)}. Held: {_all(held)}.")
    return lines


def collapse(results: Results) -> list[str]:
    """Whether SSL and NA collapse, with our ten walks and with the authors' settings."""
    places = [
        (f"Formulas, {name} after {after}, calculation accuracy", "hwf/standard", method, stage, "calculation_accuracy")
        for method, name in FIXED.items()
        for stage, after in (("I", "one stage"), ("II", "Stage II"))
    ]
    places += [(f"Sudoku, SSL, {size} boards", f"sudoku/{size}", "ssl", "I", "board_accuracy") for size in SIZES]
    papers = [published.HWF[method, stage][1] for method in FIXED for stage in ("I", "II")]
    lines, counts, totals = [], [0, 0], [0, 0]
    for (what, table, method, stage, metric), paper in zip(
        places, [*papers, *published.SUDOKU["ssl", "I"]], strict=True
    ):
        families = [f"{table}/{key}" for key in (method, f"{method}-code")]
        both = [epoch_figure(results, f, stage, LAST) or results.test(f, stage, metric) for f in families]
        if both == [None, None]:
            continue
        said = []
        for place, figure in enumerate(both):
            fell = figure is not None and figure.mean < COLLAPSED
            counts[place], totals[place] = counts[place] + fell, totals[place] + (figure is not None)
            said.append("not run" if figure is None else f"{figure}, {'' if fell else 'not '}collapsed")
        lines.append(
            f"- {what}: {decimal(paper)} in the paper; with ten walks {said[0]}; as in the authors' code {said[1]}."
        )
    if lines:
        shares = [f"{count} of {total}" for count, total in zip(counts, totals, strict=True)]
        text = f"With ten walks {shares[0]} collapse, as in the authors' code {shares[1]}."
        if totals[1] < len(lines):
            text += (
                " What was not run that way is not judged (`--seeds 1 --only hwf/standard/ssl-code "
                "hwf/standard/na-code` runs formulas)."
            )
        lines += ["", text]
    return lines


def hard(results: Results) -> list[str]:
    """The hard groundings against cooling: are they 'trapped', as the paper says?"""
    places: list[tuple[str, str, str, tuple[str, ...]]]
    places = [("Formulas, calculation accuracy", "hwf/standard", "calculation_accuracy", ("I", "II"))]
    places += [(f"Sudoku, {SIZES[-1]} boards", f"sudoku/{SIZES[-1]}", "board_accuracy", ("I",))]
    lines = []
    for what, table, metric, stages in places:
        for stage in stages:
            cooled = {name: results.test(f"{table}/{method}", stage, metric) for name, method in layout.SCHEDULES}
            best = _best(cooled)
            for method, name in (
                ("hard-feasible", "(1), one feasible mapping"),
                ("hard-best", "(2), the best mapping"),
            ):
                figure = results.test(f"{table}/{method}", stage, metric)
                if figure is not None and best is not None:
                    words = ("softening leads", "the hard grounding leads", "neither leads")
                    verdict = _judged(best, {name: figure}, *words)
                    after = "both stages" if stage == "II" else "Stage I"
                    lines.append(f"- {what}, after {after}, {name}: {figure}, the best schedule {best}: {verdict}.")
    return lines


def crude(results: Results) -> list[str]:
    """The paper's walk against the walk without a projection, after one stage and after both."""
    lines = []
    for stage, after in (("I", "Stage I"), ("II", "both stages, MCMC too")):
        for size in SIZES:
            found = {
                name: results.test(f"sudoku/{size}/{method}", stage, "board_accuracy")
                for name, method in (*layout.SCHEDULES, ("MCMC", "mcmc"))
            }
            other = found.pop("MCMC")
            best = _best(found)
            if best is not None and other is not None:
                verdict = _judged(best, {"MCMC": other}, "the projection leads", "MCMC leads", "neither leads")
                lines.append(f"- {size} boards, after {after}: {best} against {other}: {verdict}.")
    return lines


def logarithmic(results: Results) -> list[str]:
    """Whether logarithmic cooling falls behind after Stage II."""
    log, exp = (results.test(f"hwf/standard/{method}", "II", "calculation_accuracy") for method in ("log", "exp"))
    if log is None or exp is None:
        return []
    paper = [decimal(published.HWF[method, "II"][1]) for method in ("log", "exp")]
    verdict = _judged(log, {"Exp": exp}, "Log leads", "Log falls behind", "neither leads")
    return [f"- Log against Exp: {paper[0]} against {paper[1]} in the paper; {log} against {exp} here: {verdict}."]


def _judged(one: Figure, others: dict[str, Figure | None], ahead: str, behind: str, neither: str) -> str:
    """Who leads: ``ahead`` of every other, or ``behind`` any; where more than one run stands behind each."""
    rivals = [figure for figure in others.values() if figure is not None]
    if min(figure.seeds for figure in (one, *rivals)) < 2:
        return "one run is too few to tell"
    found = {lead(one, rival, ahead, behind, neither) for rival in rivals}
    return behind if behind in found else neither if neither in found else ahead


def paths(results: Results) -> list[str]:
    """What the paper says of its figure of shortest paths: 'better than competitors', 'close to' direct supervision."""

    def found(method: str, stage: str) -> Figure | None:
        return results.test(f"sdsp/recursive/{method}", stage, "path_accuracy_all")

    ours = {name: found(method, "II") for name, method in layout.SCHEDULES}
    alone = {name: found(method, "I") for method, name in (("rl", "RL"), ("mapo", "MAPO"), *FIXED.items())}
    code = {name: found(f"{method}-code", "I") for method, name in FIXED.items()}
    treated = {f"{name} + Stage II": found(method, "II") for method, name in FIXED.items()}
    labels, mean = found("sup", "SUP"), found("mean", "I")
    best = _best(ours)
    if best is None:
        return ["**What the paper says of its figure** is not judged: its method is not measured yet."]
    lines = [f"**What the paper says of its figure**, of all 30 paths. Ours after both stages: {_all(ours)}.", ""]
    for what, others in (
        ("'better than competitors', as they are", alone),
        ("the same, competitors as in the authors' code, whose SSL and NA stop learning after 11 passes", code),
        ("the same, competitors with Stage II", treated),
    ):
        if any(others.values()):
            verdict = _judged(best, others, "ours lead", "ours fall behind", "neither leads")
            lines.append(f"- {what}: {verdict}. {_all(others)}.")
    if labels is not None:
        gap = best.mean - labels.mean
        lines.append(f"- 'close to the direct supervision case': our best {gap:+.1f} points from SUP, {labels}.")
    if mean is not None:
        everything = {f"{name}, both stages": figure for name, figure in ours.items()} | alone | treated
        everything |= {f"{name} as in the authors' code": figure for name, figure in code.items()}
        below = [name for name, f in everything.items() if f is not None and f.mean <= mean.mean]
        lines.append(
            f"- Each vertex's mean distance in training, the graph not looked at, finds {mean}. Not above it: "
            f"{', '.join(below) or 'none of the rows'}."
        )
    return lines


def _best(figures: dict[str, Figure | None]) -> Figure | None:
    return max((f for f in figures.values() if f is not None), key=lambda f: f.mean, default=None)


def _all(figures: dict[str, Figure | None]) -> str:
    return ", ".join(f"{name} {figure}" for name, figure in figures.items() if figure is not None)


__all__ = ["annealing", "collapse", "crude", "hard", "lines", "logarithmic", "paths"]
