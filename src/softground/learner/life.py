"""A run in its folder: locked, measured before training, summed up and reported after it. Process 0 writes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch import Tensor

from ..errors import NonFiniteOutput
from ..files import replace_file
from ..runs.environment import environment
from ..runs.folder import RunFolder
from .evaluation import both_predictions, measured, named, results
from .identity import config_of, refuse_another
from .noise import written
from .parts import Data, Part, together
from .signs import signs
from .unexplained import summed_up

if TYPE_CHECKING:
    from .learner import Learner

PARTS = ("network", "sampling", "solver", "total")  # of an epoch's seconds
MODEL, SUSPECTS = "model", "suspects.csv"
SHOWN = 20  # suspects in the summary and the report; the file has all of them


@contextmanager
def run_folder(
    out: Path | str | None, learner: Learner, train: list[Part], validation: list[Part] | None, resume: bool
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


def before(learner: Learner, held_out: Mapping[str, list[Part]], folder: RunFolder) -> dict[str, Any]:
    """The untrained network's figures, measured once and kept in the config."""
    kept = learner.fabric.broadcast(folder.read_config().get("before") if learner.fabric.is_global_zero else None)
    if isinstance(kept, dict) and all(isinstance(value, int | float) for value in kept.values()):
        return kept
    figures: dict[str, Any] = {}
    for name, parts in held_out.items():
        figures |= named(name, _figures(parts, _read(learner, parts, f"Before training, on the {name} data")))
    figures = results(figures)
    if learner.fabric.is_global_zero:
        folder.write_config(folder.read_config() | {"before": figures})
    return figures


def finish(
    learner: Learner,
    data: tuple[Data, Data | None],
    parts: tuple[list[Part], list[Part] | None],
    first: dict[str, Any],
    folder: RunFolder,
) -> dict[str, Any]:
    """Sum up a run that has ended: ``summary.json``, the report and the model. Gives the summary.

    ``data`` are the training and test sets, ``parts`` the same as the loop reads them, ``first`` what :func:`before`
    gave. Each data set is read once, for summary and report together.
    """
    from ..report import gather, write_report

    train, test = parts
    trained = _read(learner, train, "After training, on the training data")
    history, results = learner.history_, learner.results_
    faults = Counter[str]()
    for part in train:
        faults.update({name: count for name, count in part.task.inverse.faults.items() if count})
    explained = [part.task.feasible(read[0], part.y) for part, read in zip(train, trained, strict=True)]
    summary = {
        "task": learner.task.name,
        **(list(results.values())[-1] if results else {}),
        "grounded": sum(int(fine.sum()) for fine in explained),
        "train": _figures(train, trained),
        "before": first,
        **summed_up([part.unexplained for part in learner.loop.parts], history),
        **{f"after_stage_{name}": figures for name, figures in results.items()},
        "epochs": len(history),
        "wall_seconds": learner.seconds_,
        "seconds": {part: sum(record["seconds"][part] for record in history) for part in PARTS},
        **{f"solver_{name}": count for name, count in faults.items()},
        "seed": learner.seed,
        "parameters": sum(p.numel() for p in learner.network.parameters()),
        "note": learner.note,
        **({"choice": learner.choice_} if learner.choice_ else {}),
        **({"signs": seen} if (seen := signs(history)) else {}),
        "versions": environment(),
    }
    if learner.noise:
        found = learner.suspects_
        summary["noise"] = learner.loop.parts[0].noise.level(history)  # type: ignore[union-attr]
        summary["suspects"] = {"count": len(found), "first": [asdict(one) for one in found[:SHOWN]]}
        replace_file(folder.path / SUSPECTS, written(found))
    folder.write_summary(summary)
    findings = None
    if data[1] is not None and test is not None:
        held_out = _read(learner, test, "After training, on the test data")
        read = [[part[0] for part in both] for both in (trained, held_out)]
        findings = gather(learner, data[0], data[1], folder, predictions=(read[0], read[1]))
    write_report(folder, findings)
    learner.save(folder.path / MODEL)
    return summary


def _read(learner: Learner, parts: list[Part], when: str) -> list[list[Tensor]]:
    """What the network reads in each part of a data set, in both ways where there are two."""
    try:
        return [both_predictions(part.task.space, learner.network, part.data) for part in parts]
    except NonFiniteOutput as error:
        raise NonFiniteOutput(f"{when}: {error}") from error


def _figures(parts: list[Part], predicted: list[list[Tensor]]) -> dict[str, Any]:
    return together([(part, measured(part, read)) for part, read in zip(parts, predicted, strict=True)])
