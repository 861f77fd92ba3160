"""A run in its folder: locked, measured before training, summed up and reported after it. Process 0 writes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch import Tensor
from torch.utils.data import Dataset

from ..errors import NonFiniteOutput
from ..files import replace_file
from ..runs.environment import environment
from ..runs.folder import RunFolder
from .batches import Batches
from .evaluation import both_predictions, figures_of, named, results
from .identity import config_of, refuse_another
from .noise import written

if TYPE_CHECKING:
    from .learner import Learner

PARTS = ("network", "sampling", "solver", "total")  # of an epoch's seconds
MODEL, SUSPECTS = "model", "suspects.csv"
SHOWN = 20  # suspects in the summary and the report; the file has all of them


@contextmanager
def run_folder(
    out: Path | str | None, learner: Learner, train: Batches, validation: Batches | None, resume: bool
) -> Iterator[RunFolder | None]:
    """The run folder ``out``, locked against other processes.

    Process 0 makes a new one, or refuses one that holds another run.
    """
    fabric, name = learner.fabric, learner.task.name
    with ExitStack() as stack:
        if out is not None and fabric.is_global_zero:
            folder = RunFolder.open(out) if resume else RunFolder.create(out, name)
            stack.enter_context(folder.lock())
            config = config_of(learner, train, validation)
            if resume:
                refuse_another(folder, config)
            else:
                RunFolder.create(out, name)  # still empty, now that nobody else can fill it
                folder.write_config(config)
        out = fabric.broadcast(out)
        yield None if out is None else RunFolder(Path(out))
        fabric.barrier()


def before(learner: Learner, held_out: Mapping[str, Batches], folder: RunFolder) -> dict[str, Any]:
    """The untrained network's figures, measured once and kept in the config."""
    kept = learner.fabric.broadcast(folder.read_config().get("before") if learner.fabric.is_global_zero else None)
    if isinstance(kept, dict) and all(isinstance(value, int | float) for value in kept.values()):
        return kept
    figures: dict[str, Any] = {}
    for part, data in held_out.items():
        predicted, y = _read(learner, data, f"Before training, on the {part} data")
        figures |= named(part, figures_of(learner.task, predicted, y, data.symbols))
    figures = results(figures)
    if learner.fabric.is_global_zero:
        folder.write_config(folder.read_config() | {"before": figures})
    return figures


def finish(
    learner: Learner,
    data: tuple[Dataset[Any], Dataset[Any] | None],
    batches: tuple[Batches, Batches | None],
    first: dict[str, Any],
    folder: RunFolder,
) -> dict[str, Any]:
    """Sum up a run that has ended: ``summary.json``, the report and the model. Gives the summary.

    ``data`` are the training and test sets, ``batches`` the same as the loop reads them, ``first`` what :func:`before`
    gave. Each data set is read once, for summary and report together.
    """
    from ..report import gather, write_report

    task, (train, test) = learner.task, batches
    trained, y = _read(learner, train, "After training, on the training data")
    history, results = learner.history_, learner.results_
    summary = {
        "task": task.name,
        **(list(results.values())[-1] if results else {}),
        "grounded": int(task.feasible(trained[0], y).sum()),
        "train": figures_of(task, trained, y, train.symbols),
        "before": first,
        **learner.loop.unexplained.summed_up(history),
        **{f"after_stage_{name}": figures for name, figures in results.items()},
        "epochs": len(history),
        "wall_seconds": learner.seconds_,
        "seconds": {part: sum(record["seconds"][part] for record in history) for part in PARTS},
        **{f"solver_{name}": count for name, count in task.inverse.faults.items() if count},
        "seed": learner.seed,
        "parameters": sum(p.numel() for p in learner.network.parameters()),
        "note": learner.note,
        "versions": environment(),
    }
    if learner.noise:
        found = learner.suspects_
        summary["noise"] = learner.loop.noise.level(history)  # type: ignore[union-attr]
        summary["suspects"] = {"count": len(found), "first": [asdict(one) for one in found[:SHOWN]]}
        replace_file(folder.path / SUSPECTS, written(found))
    folder.write_summary(summary)
    findings = None
    if data[1] is not None and test is not None:
        held_out, _ = _read(learner, test, "After training, on the test data")
        findings = gather(learner, data[0], data[1], folder, predictions=(trained[0], held_out[0]))
    write_report(folder, findings)
    learner.save(folder.path / MODEL)
    return summary


def _read(learner: Learner, data: Batches, when: str) -> tuple[list[Tensor], Tensor]:
    """What the network reads in a data set, in both ways where there are two, and its encoded answers."""
    device = learner.fabric.device
    try:
        predicted = both_predictions(learner.space, learner.network, data)
    except NonFiniteOutput as error:
        raise NonFiniteOutput(f"{when}: {error}") from error
    return predicted, learner.task.constraint.encode(data.answers).to(device)
