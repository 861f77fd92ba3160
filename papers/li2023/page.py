"""The page: what the paper reports beside what was measured here, from the records alone."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.provenance import machine

from . import bias, checks, departures, judgements, layout, short, sudoku_page, tables, verdict, verdicts
from .plan import TABLES, What
from .plots import CURVES, DISTANCES, PATHS
from .summary import Results

NOTHING = "Not measured yet."


def page(results: Results, what: What = "all", pictures: str = "images") -> str:
    """The page in Markdown: verdicts and tables; ``pictures`` is the folder of the plots, as seen from it."""
    wanted = TABLES if what == "all" else (what,)
    parts = [_head(results, what)]
    if "hwf" in wanted:
        parts += [_formulas(results, pictures)]
    if "sudoku" in wanted:
        parts += [_section("Table 2: visual Sudoku", results, "sudoku", sudoku_page.CAPTION, tables.boards(results))]
    if "sdsp" in wanted:
        parts += [_paths(results, pictures)]
    return "\n\n".join([*parts, _disagreements(results), _again(results, what)]) + "\n"


def appendix(results: Results, what: What = "all") -> str:
    """What stands behind the page: single runs, claims, Proposition 1, departures, statements, all comparisons."""
    wanted = TABLES if what == "all" else (what,)
    text = f"Written by `python -m papers.li2023 {what} --render`; do not edit. The tables are in the documentation."
    parts = [_part("# The paper, reproduced: appendix", [text])]
    if not results.records:
        return "\n\n".join([*parts, NOTHING]) + "\n"
    if "sudoku" in wanted:
        parts += [_part("## Sudoku, run by run", sudoku_page.lines(results))]
    measured = any(name in results.families for name in _claimed(wanted))
    parts += [_part("## Claims in the text", checks.claims(results, wanted) if measured else [NOTHING])]
    if "hwf" in wanted:
        picture = _picture(results, "proposition", DISTANCES, "Distance to Q*", "../../docs/images")
        parts += [
            _part("## Proposition 1: the solver's bias", [bias.CONCEDED]),
            _part("### How far the walk's law is from Q\\*", [*checks.proposition(results), *picture]),
            _part("### The inequality", bias.inequality(results)),
            _part("### The remark, in training", bias.remark(results)),
        ]
    parts += [_differences(wanted), _judgements(results), _verdicts(results)]
    return "\n\n".join(parts) + "\n"


SEEDS = (
    "Mean ± sd over seeds; the last column counts them. Three are the rule, ten where two of three came out 25 points "
    "apart or more, one where a run was too dear. Rows without a record are omitted. `--preset best` is that of 0.3.0, "
    "without scaled grounding and further starts."
)
JUDGED = "## What the paper says of methods"
STAND_IN = "**The built-in digits stand in for the paper's data, so its figures cannot be compared with these.**"
HWF = (
    "Test accuracy in %, of the most probable of all symbols at every site, as in the paper. **HWF, reconstructed from "
    "CROHME strokes, *ink bright***: ink is 1 and paper 0, where the authors' code has paper 1 and ink 0, and the "
    "examples are shuffled, where theirs are not. Figures are of the network that was kept; *last epoch* is the "
    "calculation accuracy of the last one. Chance is 7.7 % of the symbols."
)
WRITERS = "The same with test images from writers not seen in training:"
FALL = (
    "Networks are kept by training accuracy, so the other columns of Table 1 do not show where a method ends; its "
    "last-epoch column does."
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
    text.append(
        f"{done} of {total} runs are on record, {hours:.1f} hours on {', '.join(machines)}; data: "
        f"{', '.join(_data(results)) or 'graphs alone'}. Each record holds recipe, commit and command "
        ""
        "(`benchmarks/results/reproduction`). [The appendix](../papers/li2023/APPENDIX.md) has single runs, "
        "Proposition "
        "1, every departure from the paper, and every comparison."
    )
    if "digits" in _data(results):
        return "\n".join([*text, "", SEEDS, "", STAND_IN])
    return "\n".join([*text, "", "## Verdicts", "", *verdicts.lines(results), "", *short.lines(results), "", SEEDS])


def _data(results: Results) -> list[str]:
    """Which data the records were made on."""
    return sorted({str(r["options"]["data"]) for r in results.records if "data" in r["options"]})


def _formulas(results: Results, pictures: str) -> str:
    curves = _picture(results, "hwf", CURVES, "Training and test curves", pictures)
    return "\n\n".join(
        [
            _section(
                "Table 1: handwritten formulas",
                results,
                "hwf",
                HWF,
                [*tables.formulas(results), "", WRITERS, "", *tables.writers(results)],
            ),
            _section(
                "Table 3: combinations", results, "hwf", "As in Table 1.", tables.formulas(results, layout.COMBINATIONS)
            ),
            _part(
                "## Training and test curves",
                [*curves[1:], "", f"{verdicts.fall(results)} {FALL}"] if curves else [NOTHING],
            ),
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


def _disagreements(results: Results) -> str:
    """Numbers of the paper's own method that the paper's and our runs do not share, in both directions."""
    title = "## Where the paper and these runs disagree"
    if not results.records or "digits" in _data(results):
        return _part(title, [STAND_IN if results.records else NOTHING])
    lines = [
        "Numbers of the paper's own method outside the 95 % prediction interval of ours (mean ± t sd √(1 + 1/n); with "
        "three seeds ± 4.97 sd), highest first. The paper gives one number each. The largest differences are formulas "
        "after Stage I, far above the paper. Likely reasons: the polarity of the images, the order of the "
        "examples, and how Z3 chooses among completions; none is settled.",
        "",
        *(verdict.outside(results) or ["- none."]),
        *verdict.shortfall(results),
    ]
    return _part(title, lines)


def _verdicts(results: Results) -> str:
    title = "## Every comparison"
    if not results.records or "digits" in _data(results):
        return _part(title, [STAND_IN if results.records else NOTHING])
    lists = [
        ("The paper's own method, against the 95 % prediction interval for one more run of ours:", verdict.unmatched),
        ("Numbers of the paper above what the same network reaches here with labels:", verdict.beyond_labels),
        ("Rows above SUP on Sudoku by the same network, LeNet-5:", verdict.above_labels),
        ("Baselines that do better here than in the paper, by a point or more:", verdict.stronger_baselines),
        (
            "Exact sums over S_y against the best of the paper's schedules, each after the stage that scored best on "
            "test data; a win is outside the 95 % interval of the difference of two means:",
            verdict.exact_wins,
        ),
    ]
    lines: list[str] = []
    for text, found in lists:
        lines += [text, "", *(found(results) or ["- none of those measured."]), ""]
    return _part(title, lines[:-1])


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


__all__ = ["appendix", "page"]
