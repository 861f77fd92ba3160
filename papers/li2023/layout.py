"""The rows of the tables, in the paper's order, then ours."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """A line of a table: its group, what the method is called, and whose figures after which stage it shows."""

    group: str
    label: str
    method: str
    stage: str

    @property
    def key(self) -> tuple[str, str]:
        """As in :mod:`.published`."""
        return self.method, self.stage


STAGE_ONE, BOTH = "Ours (Stage I)", "Ours (Stage I + II)"
CODE = "As in the authors' code"
MEAN = "each vertex's mean distance in training, the graph not looked at"
HARD = "Hard groundings"
SCHEDULES = (("Log", "log"), ("Exp", "exp"), ("Linear", "linear"))
OURS = tuple(
    Row(group, label, method, stage) for group, stage in ((STAGE_ONE, "I"), (BOTH, "II")) for label, method in SCHEDULES
)

HWF = (
    Row("Baseline", "RL (chance: 7.7)", "rl", "I"),
    Row("Baseline", "MAPO", "mapo", "I"),
    Row("Baseline", "NGS", "ngs", "I"),
    Row("Baseline", "SSL", "ssl", "I"),
    Row("Baseline", "NA", "na", "I"),
    Row(CODE, "SSL", "ssl-code", "I"),
    Row(CODE, "NA", "na-code", "I"),
    *OURS,
    Row(CODE, "Exp, Stage I", "exp-code", "I"),
    Row(CODE, "Exp, Stage I + II", "exp-code", "II"),
    Row(HARD, "(1), one feasible mapping", "hard-feasible", "I"),
    Row(HARD, "(2), the best mapping", "hard-best", "I"),
    Row("Not in the paper", "semantic loss, exact", "semantic", "I"),
    Row("Not in the paper", "Exp with the exact kernel, Stage I", "exact", "I"),
    Row("Not in the paper", "Exp with the exact kernel, Stage I + II", "exact", "II"),
    Row("Not in the paper", "Exp, grammatical readings, Stage I", "exp-grammatical", "I"),
    Row("Not in the paper", "Exp, grammatical readings, Stage I + II", "exp-grammatical", "II"),
    Row("Not in the paper", "`--preset best` (distorted images)", "best", "I"),
    Row("Not in the paper", "`--preset best --no-augment` (images as they are)", "best-plain", "I"),
    Row("Not in the paper", "`--preset best --readings grammatical` (distorted images)", "best-grammatical", "I"),
    Row("With labels", "SUP (LeNet-5)", "sup", "SUP"),
    Row("With labels", "SUP (`--preset best`, distorted images)", "best-sup", "SUP"),
)
COMBINATIONS = (
    Row("", "SSL + Stage II", "ssl", "II"),
    Row("", "NA + Stage II", "na", "II"),
    Row("", "Stage I + NGS", "exp-ngs", "II"),
    Row(CODE, "SSL + Stage II", "ssl-code", "II"),
    Row(CODE, "NA + Stage II", "na-code", "II"),
    Row(HARD, "(1), one feasible mapping, + Stage II", "hard-feasible", "II"),
    Row(HARD, "(2), the best mapping, + Stage II", "hard-best", "II"),
)
SUDOKU = (
    Row("Baseline", "RL", "rl", "I"),
    Row("Baseline", "MAPO", "mapo", "I"),
    Row("Baseline", "SSL", "ssl", "I"),
    Row("Baseline", "MCMC", "mcmc", "I"),
    *OURS,
    Row("Not in the paper", "MCMC + Stage II", "mcmc", "II"),
    Row(HARD, "(1), one feasible mapping", "hard-feasible", "I"),
    Row(HARD, "(2), the best mapping", "hard-best", "I"),
    Row("Not in the paper", "semantic loss, exact", "semantic", "I"),
    Row("Not in the paper", "Exp with the exact kernel, Stage I", "exact", "I"),
    Row("Not in the paper", "Exp with the exact kernel, Stage I + II", "exact", "II"),
    Row("Not in the paper", "`--preset best` (convolutional network, distorted images)", "best", "I"),
    Row("Not in the paper", "`--preset best --network lenet` (LeNet-5, distorted images)", "best-lenet", "I"),
    Row("Not in the paper", "`--preset best --no-augment` (convolutional network)", "best-plain", "I"),
    Row("With labels", "SUP (LeNet-5)", "sup", "SUP"),
    Row("With labels", "SUP (`--preset best`, convolutional network, distorted images)", "best-sup", "SUP"),
)
CONVOLUTIONAL = ("best", "best-plain", "best-sup")  # Sudoku's rows whose network is not the paper's LeNet-5
SUDOKU_CODE = (
    Row(CODE, "SSL", "ssl-code", "I"),
    *(
        Row(CODE, f"{label}, {stage}", f"{method}-code", key)
        for label, method in (("MCMC", "mcmc"), *SCHEDULES)
        for stage, key in (("Stage I", "I"), ("Stage I + II", "II"))
    ),
)
SDSP_RECURSIVE = (
    Row("Baseline", "RL", "rl", "I"),
    Row("Baseline", "MAPO", "mapo", "I"),
    Row("Baseline", "SSL", "ssl", "I"),
    Row("Baseline", "NA", "na", "I"),
    Row(CODE, "SSL", "ssl-code", "I"),
    Row(CODE, "NA", "na-code", "I"),
    *OURS,
    Row("Not in the paper", "SSL + Stage II", "ssl", "II"),
    Row("Not in the paper", "NA + Stage II", "na", "II"),
    Row("Not in the paper", MEAN, "mean", "I"),
    Row("With labels", "SUP", "sup", "SUP"),
)
SDSP_UNIFORM = (
    Row("Baseline", "SSL", "ssl", "I"),
    Row(STAGE_ONE, "Exp", "exp", "I"),
    Row(BOTH, "Exp", "exp", "II"),
    Row("Not in the paper", "SSL + Stage II", "ssl", "II"),
    Row("Not in the paper", MEAN, "mean", "I"),
    Row("Not in the paper", "the paper's network, relabelled, exact kernel", "gibbs", "I"),
    Row("Not in the paper", "`--preset best`", "best", "I"),
    Row("With labels", "SUP", "sup", "SUP"),
    Row("With labels", "SUP (`--preset best`)", "best-sup", "SUP"),
)

SDSP = {"recursive": SDSP_RECURSIVE, "uniform": SDSP_UNIFORM}  # by how a graph's tree is drawn: the authors', ours


def name(row: Row) -> str:
    """What a row is called outside its table."""
    if row.group == CODE:
        return f"{row.label} (as in the authors' code)"
    return f"{row.label} ({'Stage I + II' if row.stage == 'II' else 'Stage I'})" if row in OURS else row.label


__all__ = [
    "BOTH",
    "CODE",
    "COMBINATIONS",
    "CONVOLUTIONAL",
    "HWF",
    "OURS",
    "SDSP",
    "STAGE_ONE",
    "SUDOKU",
    "SUDOKU_CODE",
    "Row",
    "name",
]
