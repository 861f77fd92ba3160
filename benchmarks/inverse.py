"""Inverse projection of length-7 formulas: queries per second, against the paper's way on the same queries.

    python benchmarks/inverse.py [--quick] [--devices cpu cuda] [--baseline FILE]

A query is what the paper's walk asks: a formula's value, and its symbols with one kept site changed and the third and
fifth dropped; half of them have no completion. *The paper's way* hands each query to a fresh Z3 solver, asks for one
model, and spreads queries over all cores with joblib; here it states the rule as ``softground/tasks/formulas/rule.py``
does and creates nothing that the query does not need. All others return **every** completion:

- ``table``, ``enumeration``: the tensor inverses, at the batch size that pays most;
- ``z3``: the general inverse with a worker per core, and in one process. Nothing is remembered between repeats; how
  fast it answers what it has seen before is given apart, as ``cached``.

On a machine without z3 only the tensor inverses are measured. ``--baseline`` then takes the paper's throughput from
another machine's record, and the JSON says so.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import torch
from measure import Work, destination, interleaved, options, record, timed
from provenance import read_page
from torch import Tensor

from softground.constraints.smt import SMT
from softground.inverses import Enumeration, Fibre, Table
from softground.projections import Dropped
from softground.tasks.formulas import formula_program
from softground.tasks.formulas.rule import formula_rule

DROPPED = (2, 4)  # the paper's
PAPER_QUERIES = 600  # in one turn
TURN = 0.2  # seconds of a tensor inverse's turn: one call takes a millisecond, and the first finds nothing in the cache
BATCHES = {"cpu": (2**10, 2**12, 2**14), "cuda": (2**15, 2**16, 2**17, 2**18)}
WIDEST = {"table": 2**18, "enumeration": 2**16}  # enumeration holds 81 whole states per query


@dataclass(frozen=True)
class Queries:
    """States whose dropped entries are to be found again, and the values of the formulas they come from."""

    z: Tensor
    y: Tensor  # ids of the table's rule
    answers: list[Fraction]

    def first(self, count: int) -> Queries:
        return Queries(self.z[:count], self.y[:count], self.answers[:count])

    def sites(self) -> Tensor:
        return torch.tensor(DROPPED, device=self.z.device).expand(len(self.z), -1)

    def to(self, device: str) -> Queries:
        return Queries(self.z.to(device), self.y.to(device), self.answers)


def draw(program: Any, count: int, seed: int) -> Queries:
    """Formulas drawn uniformly, then one kept site of each drawn afresh, as the walk proposes."""
    space, generator = program.space, torch.Generator().manual_seed(seed)
    truth = space.states(torch.randint(space.size, (count,), generator=generator))
    above, below = program.function(*space.arguments(truth))
    kept = torch.tensor([site for site in range(space.sites) if site not in DROPPED])
    site = kept[torch.randint(len(kept), (count, 1), generator=generator)]
    new = (torch.rand(count, 1, generator=generator) * torch.tensor(space.sizes)[site]).long()
    answers = [Fraction(n, d) for n, d in zip(above.tolist(), below.tolist(), strict=True)]
    return Queries(truth.scatter(1, site, new), program.answer_ids(truth), answers)


def one_model(symbols: list[int | None], low: int, high: int, answer: Fraction) -> list[int] | None:
    """The paper's inverse: a fresh solver, one model. None stands for a dropped site, and for 'no completion'."""
    import z3

    variables = {site: z3.Int(f"z{site}") for site, symbol in enumerate(symbols) if symbol is None}
    solver = z3.Solver()
    solver.add(*[z3.And(v >= low, v <= high) for v in variables.values()])
    solver.add(formula_rule([variables.get(site, symbol) for site, symbol in enumerate(symbols)], answer))
    if solver.check() != z3.sat:
        return None
    model = solver.model()
    return [model.eval(v, model_completion=True).as_long() for v in variables.values()]


def papers_way(program: Any, queries: Queries, pool: Any) -> list[list[int] | None]:
    """A completion of each query, as symbols."""
    import joblib

    rows = torch.stack(program.space.arguments(queries.z), 1).tolist()
    known = [[None if site in DROPPED else symbol for site, symbol in enumerate(row)] for row in rows]
    found = pool(joblib.delayed(one_model)(row, 1, 9, y) for row, y in zip(known, queries.answers, strict=True))
    return list(found)


def both(program: Any) -> dict[str, Any]:
    """The tensor inverses."""
    return {"table": Table(program), "enumeration": Enumeration(program.space, program)}


def tensor_inverses(program: Any, everything: Queries, device: str, repeats: int, quick: bool) -> dict[str, Any]:
    """Throughput of table and enumeration at each batch size, and the best."""
    figures: dict[str, Any] = {}
    for name, inverse in both(program).items():
        speeds = {}
        for batch in (256,) if quick else [b for b in BATCHES[device] if b <= WIDEST[name]]:
            some = everything.first(batch).to(device)
            seconds = timed(partial(inverse.fibre, some.z, some.y, some.sites()), repeats, 3, device)
            speeds[batch] = batch / seconds["median"]
        best = max(speeds, key=lambda batch: speeds[batch])
        figures[name] = {"throughput": speeds[best], "batch": best, "by_batch": {str(b): s for b, s in speeds.items()}}
    return figures


def against_paper(
    program: Any, everything: Queries, figures: dict[str, dict[str, Any]], count: int, repeats: int
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The paper's throughput and the Z3 inverse's, taking turns; ratios of the tensor inverses are put into
    ``figures`` (device → inverse → figures), from turns of their own beside the paper's."""
    import joblib

    from softground.inverses.z3 import Z3

    smt, some, cores = SMT(formula_rule, formula_program(7).space), everything.first(count), os.cpu_count() or 1
    y = smt.encode(some.answers)
    tensors = both(program)
    alone, together = Z3(smt, cache=0), Z3(smt, cache=0, workers=cores)
    with joblib.Parallel(n_jobs=cores) as pool:
        alternatives: dict[str, Work] = {
            "paper": lambda: papers_way(program, some, pool),
            "one process": lambda: alone.fibre(some.z, y, Dropped(some.sites())),
            "all cores": lambda: together.fibre(some.z, y, Dropped(some.sites())),
        }
        check(program, some, papers_way(program, some, pool), Z3(smt).fibre(some.z, y, Dropped(some.sites())), tensors)
        turns = interleaved(alternatives, repeats, warmup=1)
        paper = rate(turns["seconds"]["paper"], count)
        for device, inverses in figures.items():
            for name, figure in inverses.items():
                batch = everything.first(figure["batch"]).to(device)
                calls = max(1, round(TURN * figure["throughput"] / figure["batch"]))
                ours = partial(again, calls, partial(tensors[name].fibre, batch.z, batch.y, batch.sites()))
                pair = interleaved({"paper": alternatives["paper"], "ours": ours}, max(3, repeats // 2), 1, device)
                figure |= gain(pair["ratio"]["ours"], calls * figure["batch"] / count)
    remembering = Z3(smt)
    remembering.fibre(some.z, y, Dropped(some.sites()))
    cached = timed(lambda: remembering.fibre(some.z, y, Dropped(some.sites())), repeats)
    solver: dict[str, Any] = {
        **gain(turns["ratio"]["all cores"], 1.0),
        "workers": cores,
        **rate(turns["seconds"]["all cores"], count),
        "one_process": gain(turns["ratio"]["one process"], 1.0) | rate(turns["seconds"]["one process"], count),
        "cached": rate(cached, count),
    }
    return paper | {"queries": count, "workers": cores}, solver


def check(program: Any, some: Queries, models: list[list[int] | None], whole: Fibre, tensors: dict[str, Any]) -> None:
    """All ways give the same completions; the paper's is one of them."""
    for name, inverse in tensors.items():
        fibre = inverse.fibre(some.z, some.y, Dropped(some.sites()))
        rows = [v[m].tolist() for v, m in zip(fibre.values, fibre.mask, strict=True)]
        assert rows == [v[m].tolist() for v, m in zip(whole.values, whole.mask, strict=True)], f"{name} differs from z3"
    for model, row in zip(models, rows, strict=True):
        assert (model is None) == (not row), "the paper's way and the table disagree on whether there is a completion"
        assert model is None or [symbol - 1 for symbol in model] in row, "a model that is no completion"


def again(calls: int, work: Work) -> None:
    """So many calls in a row."""
    for _ in range(calls):
        work()


def rate(seconds: dict[str, Any], queries: float) -> dict[str, Any]:
    """Queries per second from seconds: median and quartiles."""
    return {"throughput": queries / seconds["median"], "throughput_spread": _inverted(seconds, queries)}


def gain(ratio: dict[str, Any], queries: float) -> dict[str, Any]:
    """How many times the paper's throughput, from times over the paper's and queries per query of the paper's."""
    return {"ratio": queries / ratio["median"], "spread": _inverted(ratio, queries)}


def _inverted(values: dict[str, Any], over: float) -> dict[str, Any]:
    middle, low, high = (over / values[name] for name in ("median", "high", "low"))
    return {"median": middle, "low": low, "high": high, "repeats": values["repeats"]}


def elsewhere(path: Path, figures: dict[str, dict[str, Any]]) -> None:
    """Ratios against the paper's throughput on record; a ratio across machines, and marked as one."""
    page = read_page(path)
    machine = page["measured"]["cpu"]["environment"]
    note = f"the paper's way measured on another machine: {machine['cpus']} CPU cores, {machine['platform']}"
    for inverses in figures.values():
        for figure in inverses.values():
            figure |= {"ratio": figure["throughput"] / page["paper"]["throughput"], "baseline": note}


def main() -> None:
    given = arguments().parse_args()
    program = formula_program(7)
    count, repeats = (20, 3) if given.quick else (PAPER_QUERIES, 10)
    most = 256 if given.quick else max(max(BATCHES[device]) for device in given.devices)
    everything = draw(program, most, given.seed)
    figures = {d: tensor_inverses(program, everything, d, repeats, given.quick) for d in given.devices}
    page: dict[str, Any] = {}
    if given.baseline:
        elsewhere(given.baseline, figures)
    elif importlib.util.find_spec("z3") and importlib.util.find_spec("joblib"):
        page["paper"], page["z3"] = against_paper(program, everything, figures, count, repeats)
    for number, device in enumerate(given.devices):
        own = {"formulas": {device: figures[device]}, **(page if number == 0 else {})}
        saved = record("inverse", own, seed=given.seed, device=device, folder=destination(given))
        print(json.dumps({key: value for key, value in saved.items() if key != "measured"}, indent=1))


def arguments() -> argparse.ArgumentParser:
    parser = options(__doc__)
    parser.add_argument("--baseline", type=Path, help="inverse.json of a machine with z3, for the paper's throughput")
    return parser


if __name__ == "__main__":
    main()
