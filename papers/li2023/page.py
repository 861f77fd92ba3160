"""The page: what the paper reports beside what was measured here, from the records alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from benchmarks.provenance import machine

from . import bias, checks, departures, judgements, layout, short, sudoku_page, tables, verdict
from .plan import TABLES, What
from .plots import CURVES, DISTANCES, PATHS
from .summary import Results

NOTHING = "Not measured yet."


def page(results: Results, what: What = "all", pictures: str = "images") -> str:
    """The page in Markdown; ``pictures`` is the folder of the plots, as seen from it."""
    wanted = TABLES if what == "all" else (what,)
    parts = [_head(results, what)]
    if "hwf" in wanted:
        parts += [_formulas(results, pictures)]
    if "sudoku" in wanted:
        parts += [
            _section("Table 2: visual Sudoku", results, "sudoku", sudoku_page.CAPTION, sudoku_page.lines(results))
        ]
    if "sdsp" in wanted:
        parts += [_paths(results, pictures)]
    measured = any(name in results.families for name in _claimed(wanted))
    parts += [_part("## Claims in the text", checks.claims(results, wanted) if measured else [NOTHING])]
    if "hwf" in wanted:
        picture = _picture(results, "proposition", DISTANCES, "Distance to Q*", pictures)
        parts += [
            _part("## Proposition 1: the solver's bias", [bias.CONCEDED]),
            _part("### How far the walk's law is from Q\\*", [*checks.proposition(results), *picture]),
            _part("### The inequality", bias.inequality(results)),
            _part("### The remark, in training", bias.remark(results)),
        ]
    parts += [_differences(wanted), _judgements(results), _verdicts(results), _again(results, what)]
    return "\n\n".join(parts) + "\n"


SEEDS = (
    "The last column of a table says how many seeds stand behind a row; where its columns differ, it gives the fewest "
    "and the most. Three are the rule, fewer where a run was too dear. Ten are the plan for MCMC from few boards and "
    "where two neighbours among three came out 25 points apart or more; there fewer than ten means that the others are "
    "not on record yet. One seed has no spread, and decides nothing. Rows of ours of which nothing is on record are "
    "left out."
)
JUDGED = "## What the paper says of methods"
STAND_IN = "**The built-in digits stand in for the paper's data, so its figures cannot be compared with these.**"
HWF = (
    "Symbol and calculation accuracy in %, mean ± sd over seeds, over all readings as in the paper: the most probable "
    "of all symbols at every site, where what is no formula is wrong. [In square brackets: the most probable "
    "grammatical formula, by the same network.] Networks were trained with all readings where a row does not say "
    "otherwise. Chance is 1/13 = 7.7 % of the symbols (1/14 = 7.1 % in the authors' code), of grammatical readings "
    "17.1 %."
)
WRITERS = (
    " *writers*: the split whose test images come from hands not seen in training. `--preset best` trains on images "
    "distorted at random."
)
SDSP = (
    "Share of shortest paths found by A\\* in 1,000 test graphs, in %, mean ± sd over seeds, in the setting of the "
    "authors' code: its graphs, network, margin, dropped vertices, optimiser and epochs (see below). It counts all 30 "
    "paths of a graph, the empty one of the destination included; the column beside it leaves that out. The paper's "
    "figure has no numbers that could be read off."
)
UNIFORM = (
    "The same on graphs whose tree is drawn uniformly from all labelled trees, in which a vertex's name says nothing "
    "of its distance. Rows of the paper's method differ from those above in the graphs alone."
)


def _head(results: Results, what: What) -> str:
    done, total = len(results.records), len(results.cells)
    text = [
        "# The paper, reproduced",
        "",
        f"Written by `python -m papers.li2023 {what} --render` from the records of its cells; do not edit. The paper: "
        "Z. Li et al., *Softened Symbol Grounding for Neuro-symbolic Systems*, ICLR 2023.",
        "",
    ]
    if not done:
        return "\n".join([*text, f"{NOTHING} {total} cells are to be run."])
    machines = sorted(set(map(machine, results.records)))
    hours = sum(float(r["wall_seconds"]) for r in results.records) / 3600
    jobs = [int(r["jobs"]) for r in results.records]
    at_once = f"{min(jobs)} to {max(jobs)}" if len(set(jobs)) > 1 else f"{jobs[0]}"
    text.append(
        f"{done} of {total} cells are on record: {hours:.1f} hours of runs, {at_once} at a time, on "
        f"{', '.join(machines)}. Data: {', '.join(_data(results)) or 'graphs alone'}."
    )
    commits = Counter(str(r["commit"]) for r in results.records)
    text[-1] += (
        " Every record holds its recipe, its commit and the command that made it, `python -m papers.li2023` with "
        f"options. Commits: {', '.join(f'`{value}` ({count} cells)' for value, count in commits.most_common())}."
    )
    summed = short.lines(results) if "digits" not in _data(results) else []
    text += [*["", *summed] * bool(summed), "", SEEDS]
    return "\n".join([*text, *["", STAND_IN] * ("digits" in _data(results))])


def _data(results: Results) -> list[str]:
    """Which data the records were made on."""
    return sorted({str(r["options"]["data"]) for r in results.records if "data" in r["options"]})


def _formulas(results: Results, pictures: str) -> str:
    curves = _picture(results, "hwf", CURVES, "Training and test curves", pictures)
    return "\n\n".join(
        [
            _section("Table 1: handwritten formulas", results, "hwf", HWF + WRITERS, tables.formulas(results)),
            _section(
                "Table 3: combinations",
                results,
                "hwf",
                HWF,
                tables.formulas(results, layout.COMBINATIONS, writers=False),
            ),
            _part("## Training and test curves", curves[1:] or [NOTHING]),
        ]
    )


def _paths(results: Results, pictures: str) -> str:
    lines = [*tables.paths(results, "recursive"), "", *judgements.paths(results), "", UNIFORM, ""]
    lines += tables.paths(results, "uniform")
    picture = _picture(results, "sdsp", PATHS, "Paths found by every method on the authors' graphs", pictures)
    return _section("The SDSP figure", results, "sdsp", SDSP, [*lines, *picture])


def _section(title: str, results: Results, task: str, caption: str, lines: Sequence[str]) -> str:
    measured = any(r["kind"] == "train" and r["name"].startswith(f"{task}/") for r in results.records)
    return _part(f"## {title}", [caption, "", *lines] if measured else [NOTHING])


def _part(title: str, lines: Sequence[str]) -> str:
    return "\n".join([title, "", *lines])


def _picture(results: Results, task: str, name: str, text: str, folder: str) -> list[str]:
    """A link to a plot that the records have figures for."""
    there = [r for r in results.records if r["name"].startswith(f"{task}/") and r["kind"] in ("train", "law")]
    if name == CURVES:
        there = [r for r in there if "curves" in r["result"]]
    return ["", f"![{text}]({folder}/{name})"] if there else []


def _claimed(wanted: Sequence[str]) -> list[str]:
    names = ["hwf/jump", "hwf/standard/exp"] * ("hwf" in wanted)
    names += [f"sudoku/{size}/{row.method}" for size in checks.MANY for row in layout.OURS] * ("sudoku" in wanted)
    return names + [f"{task}/z3" for task in wanted]


def _differences(wanted: Sequence[str]) -> str:
    lines = [f"- {text}" for text in departures.COMMON]
    titled = {
        "hwf": ("Handwritten formulas", departures.HWF),
        "sudoku": ("Sudoku", departures.SUDOKU),
        "sdsp": ("Shortest paths", departures.SDSP),
    }
    for task in wanted:
        title, texts = titled[task]
        lines += ["", f"{title}:", "", *(f"- {text}" for text in texts)]
    return _part("## Where these runs differ from the paper's, and why", lines)


def _verdicts(results: Results) -> str:
    if not results.records:
        return _part("## What could not be matched", [NOTHING])
    if "digits" in _data(results):
        return _part("## What could not be matched", [STAND_IN])
    lists = [
        (
            "Numbers of the paper's own method that are lower here. The paper gives one number without a spread, so "
            "each is held against the 95 % prediction interval for one more run of ours, the mean ± t sd √(1 + 1/n), "
            "as far as it lies in 0 … 100. With three seeds that is ± 4.97 sd, so wide that being inside it says "
            "little; with ten, ± 2.37 sd:",
            [*verdict.unmatched(results), *verdict.shortfall(results)],
        ),
        (
            "Numbers of the paper's own method above what the same network reaches here with labels (SUP: Stage I's "
            "optimiser; on Sudoku without the further epochs of Stage II, 800 steps of Adam with 500 boards):",
            verdict.beyond_labels(results),
        ),
        (
            "SUP is no limit on Sudoku: rows by the same network, LeNet-5, whose means are above it:",
            verdict.above_labels(results),
        ),
        (
            "Baselines that do better here than in the paper, by a point or more, over all readings. Chance is 7.7 % "
            "of a formula's symbols here and 7.1 % there; SSL and NA are judged above:",
            verdict.stronger_baselines(results),
        ),
        (
            "Exact sums over S_y, which the paper calls intractable on these tasks, against its walk, each after the "
            "stages that serve it best; a win counts where it is outside the 95 % interval of the difference of two "
            "means:",
            verdict.exact_wins(results),
        ),
    ]
    lines: list[str] = []
    for title, found in lists:
        lines += [title, "", *(found or ["- none of those measured."]), ""]
    return _part("## What could not be matched", lines[:-1])


def _judgements(results: Results) -> str:
    """What the paper says of methods."""
    if not results.records or "digits" in _data(results):
        return _part(JUDGED, [STAND_IN if results.records else NOTHING])
    return _part(JUDGED, judgements.lines(results))


def _again(results: Results, what: What) -> str:
    missing = len(results.cells) - len(results.records)
    lines = [
        "```sh",
        f"python -m papers.li2023 {what} --data-dir DIR --device cuda --jobs 14",
        f"python -m papers.li2023 {what} --render   # page, JSON and plots from the records alone",
        "```",
        "",
        "DIR holds `hwf.npz` and MNIST's IDX files. Finished cells are skipped; `--list` shows what is left. Cells "
        "that use Z3 need z3-solver and no GPU.",
    ]
    on_gpu = [float(r["wall_seconds"]) / int(r["jobs"]) for r in results.records if r["device"] == "cuda"]
    if on_gpu:
        minutes = sum(on_gpu) / 60
        lines[-1] += f" The {len(on_gpu)} that ran on a GPU, several at a time, took it about {minutes:.0f} minutes."
    if missing and results.records:
        lines += ["", f"{missing} cell(s) of the plan are not on record yet."]
    return _part("## Once more", lines)


__all__ = ["page"]
