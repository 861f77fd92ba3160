"""A run in its folder: locked, measured before training, summed up and reported after it. Process 0 writes.

With a noise level, it also keeps the training examples whose answer is probably wrong.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from shutil import rmtree

from ..constraints.relations import in_words
from ..errors import CheckpointError, NonFiniteOutput, SoftgroundError
from ..figures import flat_names, results
from ..files import Json, cell, replace_file
from ..inverses.base import solver_behind
from ..preparing import told
from ..runs.checkpoint import load
from ..runs.folder import METRICS, RunFolder, environment, plain
from ..training.noise import Noise
from .datasets import Part
from .device import everyone
from .evaluation import Reading, all_figures, beliefs, constrained_figures, read_part, reliability_of, symbol_figures
from .identity import config_of, refuse_another, refuse_other_processes
from .observers import learning_problems
from .plan import Plan
from .restarts import best_of, failures_of
from .run_state import Progress, Record, refuse_older
from .trained_part import TrainedPart, summed_up

PARTS = ("network", "sampling", "solver", "total")  # of an epoch's seconds
MODEL, SUSPECTS = "model", "suspects.csv"
SHOWN = 20  # suspects in the summary and the report; the file has all of them
LIKELY = 0.5  # an answer with a lower probability of being correct is suspect


@contextmanager
def run_folder(
    out: Path | str | None, learner: Plan, train: list[Part], validation: list[Part] | None, resume: bool
) -> Iterator[RunFolder | None]:
    """The run folder ``out``, locked against other processes.

    Process 0 makes a new one, or refuses one that holds another run. If settings are refused, it leaves no new one.
    """
    fabric, name = learner.fabric, learner.task.name
    with ExitStack() as stack:
        wanted = fabric.broadcast(out is not None)
        if resume and out is not None:
            refuse_other_processes(RunFolder.open(out), fabric.world_size)
        config = config_of(learner, train, validation) if wanted else {}
        if out is not None and fabric.is_global_zero:
            folder = RunFolder.open(out) if resume else RunFolder.create(out, name)
            stack.enter_context(folder.lock())
            if resume:
                try:
                    refuse_another(folder, config)
                except CheckpointError:
                    if folder.has_checkpoint():  # an older version's settings have other names
                        refuse_older(folder, load(folder.path)[1])
                    raise
            else:
                RunFolder.create(out, name)  # checks again under the lock that it is empty
                folder.write_config(config)
        out = fabric.broadcast(out)
        try:
            yield None if out is None else RunFolder(Path(out))
        except SoftgroundError as error:
            new = out is not None and fabric.is_global_zero and not resume
            if new and not isinstance(error, NonFiniteOutput) and not (folder.path / METRICS).exists():
                rmtree(folder.path, ignore_errors=True)
            raise
        fabric.barrier()


def figures_before_training(learner: Plan, held_out: Mapping[str, list[Part]], folder: RunFolder) -> Json:
    """The untrained network's figures, measured once and kept in the config."""
    kept = learner.fabric.broadcast(folder.read_config().get("before") if learner.fabric.is_global_zero else None)
    if isinstance(kept, dict) and all(isinstance(value, int | float) for value in kept.values()):
        return kept
    figures: Json = {}
    for name, parts in held_out.items():
        found = all_figures(parts, read_all(learner, parts, f"Before training, on the {name} data"))
        figures |= flat_names(found, data=name)
    figures = results(figures)
    if learner.fabric.is_global_zero:
        folder.write_config(folder.read_config() | {"before": figures})
    return figures


@dataclass(frozen=True)
class Looked:
    """The trained network's readings of held-out data."""

    further: list[str]  # names of the further test sets
    reliability: Json  # the bins behind the calibration errors, by data set
    readings: dict[str, list[Reading]]


def figures_after_training(
    learner: Plan, progress: Progress, held_out: Mapping[str, list[Part]], further: Mapping[str, list[Part]]
) -> Looked:
    """Read every held-out data set once, and complete the last results."""
    figures: Json = {}
    bins, readings = {}, {}
    for name, parts in {**held_out, **further}.items():
        told(f"Reading the {name} data")
        readings[name] = found = read_all(learner, parts, f"After training, on the {name} data", constrained=True)
        added = constrained_figures(parts, found) | symbol_figures(parts, found)
        figures |= flat_names(added if name in held_out else all_figures(parts, found), data=name)
        if (counted := reliability_of(parts, found)) is not None:
            bins[name] = {column: values.tolist() for column, values in counted._asdict().items()}
    if figures:
        stage = best_of(progress.starts).stage if progress.starts else progress.history[-1]["stage"]
        known = progress.results.get(stage, {})
        whole = known | {name: value for name, value in plain(results(figures)).items() if name not in known}
        # Those of the validation part come last.
        progress.results[stage] = dict(sorted(whole.items(), key=lambda item: item[0].startswith("validation_")))
    return Looked(list(further), plain(bins), readings)


def finish(
    learner: Plan,
    parts: Sequence[TrainedPart],
    progress: Progress,
    seconds: float,
    found: Sequence[Suspect] | None,
    looked: Looked,
    first: Json,
    trained: Sequence[Reading],
    verdict: Json,
    folder: RunFolder,
) -> Json:
    """Write ``summary.json`` of a finished run.

    ``found`` are the suspects, with a noise level; ``looked`` and ``first`` the figures after and before training;
    ``trained`` the network's readings of ``parts``; ``verdict`` the verdict's entries in the summary.
    """
    history, results, fabric = progress.history, progress.results, learner.fabric
    faults = Counter[str]()
    for part in parts:
        if solver := solver_behind(part.task.inverse):
            faults.update({name: count for name, count in solver.faults.items() if count})
    explained = [part.task.feasible(read.predicted[0], part.y) for part, read in zip(parts, trained, strict=True)]
    summary = {
        "task": learner.task.name,
        **verdict,
        **(list(results.values())[-1] if results else {}),
        "grounded": sum(everyone(fabric, sum(int(fine.sum()) for fine in explained))),
        "train": _averaged(everyone(fabric, all_figures(parts, trained))),
        "before": first,
        **({"test_sets": looked.further} if looked.further else {}),
        **({"reliability": looked.reliability} if looked.reliability else {}),
        **summed_up([part.unexplained for part in parts], history),
        **{f"after_stage_{name}": figures for name, figures in results.items()},
        "epochs": len(history),
        "wall_seconds": seconds,
        "seconds": {part: sum(record["seconds"][part] for record in history) for part in PARTS},
        **{f"solver_{name}": count for name, count in faults.items()},
        "seed": learner.settings.seed,
        "parameters": sum(p.numel() for p in learner.network.parameters()),
        "note": learner.note,
        **({"choice": learner.choice_} if learner.choice_ else {}),
        **({"grounding": learner.grounding_} if learner.grounding_ else {}),
        **({"starts": [start.to_json() for start in progress.starts]} if progress.starts else {}),
        **({"failures": [asdict(each) for each in failures]} if (failures := failures_of(progress.starts)) else {}),
        **({"signs": signs} if (signs := learning_problems(history)) else {}),
        "versions": environment(),
    }
    if found is not None:
        summary["noise"] = Noise(learner.settings.noise).at(history)
        summary["suspects"] = {"count": len(found), "first": [asdict(one) for one in found[:SHOWN]]}
    if fabric.is_global_zero:
        if found is not None:
            replace_file(folder.path / SUSPECTS, suspects_as_csv(found))
        folder.write_summary(summary)
    return summary


def _averaged(each: list[Json]) -> Json:
    """Average the figures of processes' shares of almost equal size."""
    return {name: sum(figures[name] for figures in each) / len(each) for name in each[0]} if each[1:] else each[0]


def read_all(learner: Plan, parts: Sequence[Part], when: str, constrained: bool = False) -> list[Reading]:
    """Read each part of a data set."""
    try:
        return [read_part(part, learner.network, constrained) for part in parts]
    except NonFiniteOutput as error:
        raise NonFiniteOutput(f"{when}: {error}") from error


@dataclass(frozen=True)
class Suspect:
    """An example whose answer is probably wrong."""

    example: int  # its position in the training set
    answer: str
    reading: str  # the network's reading
    gives: str  # its answer, for a rule that computes answers
    meant: float  # the probability that the answer is correct


def suspects(parts: Sequence[TrainedPart], history: Sequence[Record]) -> list[Suspect]:
    """Find the training examples whose answer is probably wrong, the least probable answer first."""
    own = [one for part in parts for one in _suspects(part, history)]
    found = [one for each in everyone(parts[0].fabric, own) for one in each]
    return sorted(found, key=lambda one: (one.meant, one.example))


def _suspects(part: TrainedPart, history: Sequence[Record]) -> list[Suspect]:
    task, noise, train = part.task, part.noise, part.data
    found: list[Suspect] = []
    if noise is None:  # no stage has learnt from answers
        return found
    level = noise.at(history)
    for index, belief in beliefs(task.space, part.network, train, train.known):
        z = belief.mode()
        meant = noise.meant(task, belief, part.y[index], index, level)
        doubtful = (meant < LIKELY).nonzero().flatten()
        answers = task.computed(z[doubtful]) or [None] * len(doubtful)
        for row, reading, gives in zip(doubtful.tolist(), task.space.decode(z[doubtful]), answers, strict=True):
            answer = in_words(train.answers[int(index[row])])
            words = (answer, " ".join(map(str, reading)), "" if gives is None else str(gives))
            found.append(Suspect(train.place(int(index[row])), *words, float(meant[row])))
    return found


def suspects_as_csv(found: Sequence[Suspect]) -> bytes:
    """Write suspects as CSV."""
    text = io.StringIO()
    table = csv.DictWriter(text, [f.name for f in fields(Suspect)])
    table.writeheader()
    table.writerows({name: cell(value) for name, value in asdict(one).items()} for one in found)
    return text.getvalue().encode()
