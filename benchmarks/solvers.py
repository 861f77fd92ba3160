"""Z3 and CP-SAT as inverses on the same queries: fibres of formulas, and lists of the solutions of grids of sums.

    python benchmarks/solvers.py [--quick]

**Fibres** are those of ``benchmarks/inverse.py``: length-7 formulas with two sites dropped, against the paper's way (a
fresh Z3 solver for each query, one model, all cores). The rule is stated as a Z3 formula and in CPMpy. Each solver is
asked as it comes, ``usual`` (a formula is made for each query and evaluated on all combinations of the dropped sites; a
CPMpy rule is evaluated for all queries together), and with ``table=0``, ``searched``: every fibre by a search, on fewer
queries. What is made once for an answer is there before the clock starts; no fibre is remembered.

**Lists** are all states of a 3×3 grid of digits (10⁹ states) with known sums of rows and columns, for answers drawn
uniformly. Both list until they have proved that there are no more.
"""

from __future__ import annotations

import json
import os
from functools import partial
from typing import Any

import joblib
import torch
from inverse import PAPER_QUERIES, Queries, check, draw, gain, papers_way, rate
from measure import Work, destination, interleaved, options, record, timed
from torch import Tensor

from softground import SMT, Categorical, CPMpy
from softground.inverses import CPSAT, Z3, Table
from softground.projections import Dropped
from softground.tasks.formulas import formula_program
from softground.tasks.formulas.rule import formula_rule

SEARCHED = 120  # queries in one turn
GRIDS = 8  # answers
SIDE = 3


def formula_model(z: Any, y: Any) -> Any:
    """Digit, operator, digit, … in CPMpy: the terms before the last as one fraction, and the last term as another."""
    above, below, top, bottom = 0, 1, z[0], 1
    for operator, digit in zip(z[1::2], z[2::2], strict=True):
        plus, minus, times, over = (operator == code for code in range(4))
        ends = plus | minus  # the last term, and a new one begins
        above, below = above * ~ends + (above * bottom + top * below) * ends, below * ~ends + below * bottom * ends
        top = top * digit * times + top * over + digit * plus - digit * minus
        bottom = bottom * digit * over + bottom * times + ends
    return (above * bottom + top * below) * y.denominator == below * bottom * y.numerator


def grid_sums(z: Any, y: Any) -> list[Any]:
    """Sums of rows, then of columns; in CPMpy and in Z3."""
    rows = [list(range(i * SIDE, (i + 1) * SIDE)) for i in range(SIDE)]
    columns = [list(range(i, SIDE * SIDE, SIDE)) for i in range(SIDE)]
    return [sum(z[i] for i in line) == total for line, total in zip(rows + columns, y, strict=True)]


def fibres(count: int, repeats: int, seed: int) -> dict[str, Any]:
    """Queries per second and how many times the paper's, by solver and way."""
    program, cores = formula_program(7), os.cpu_count() or 1
    everything = draw(program, count, seed)
    rules: dict[str, Any] = {"z3": SMT(formula_rule, program.space), "cpsat": CPMpy(formula_model, program.space)}
    makers: dict[str, Any] = {"z3": Z3, "cpsat": CPSAT}
    found: dict[str, Any] = {name: {} for name in makers}
    with joblib.Parallel(n_jobs=cores) as pool:
        for way, table, some in (("usual", {}, everything), ("searched", {"table": 0}, everything.first(SEARCHED))):
            works: dict[str, Work] = {"paper": partial(papers_way, program, some, pool)}
            for name, rule in rules.items():
                y = rule.encode(some.answers)
                for workers in (1,) if (name, way) == ("cpsat", "usual") else (1, cores):  # evaluation starts no worker
                    inverse = makers[name](rule, cache=0, workers=workers, **table)
                    works[f"{name} {workers}"] = partial(inverse.fibre, some.z, y, Dropped(some.sites()))
            agree(program, some, works, pool)
            turns = interleaved(works, repeats, warmup=1)
            for work in list(works)[1:]:
                name, workers = work.split()
                figures = gain(turns["ratio"][work], 1.0) | rate(turns["seconds"][work], len(some.z))
                found[name].setdefault(way, {})[f"workers_{workers}"] = figures
            found.setdefault("paper", {})[way] = rate(turns["seconds"]["paper"], len(some.z)) | {"queries": len(some.z)}
    return found | {"cores": cores}


def agree(program: Any, some: Queries, works: dict[str, Work], pool: Any) -> None:
    """All give the fibres of a table."""
    models = papers_way(program, some, pool)
    for name, work in works.items():
        if name != "paper":
            fibre: Any = work()
            assert bool(fibre.complete.all()), name
            check(program, some, models, fibre, {"table": Table(program)})


def lists(count: int, repeats: int, seed: int) -> dict[str, Any]:
    """Seconds for all lists, and their lengths."""
    space = Categorical([range(10)] * SIDE * SIDE)
    states = space.states(torch.randint(space.size, (count,), generator=torch.Generator().manual_seed(seed)))
    answers = [totals(state) for state in states]
    works: dict[str, Work] = {}
    lengths = {}
    for name, inverse in {"cpsat": CPSAT(CPMpy(grid_sums, space)), "z3": Z3(SMT(grid_sums, space))}.items():
        y: Tensor = inverse.rule.encode(answers)
        found = inverse.listed(y.tolist())
        assert all(end == "whole" for _, end in found), name
        lengths[name] = [len(solutions) for solutions, _ in found]
        works[name] = partial(inverse.listed, y.tolist())
    assert lengths["z3"] == lengths["cpsat"]
    seconds = {name: timed(work, repeats, 0) for name, work in works.items()}
    return {"answers": count, "solutions": sum(lengths["z3"]), "seconds": seconds}


def totals(state: Tensor) -> tuple[int, ...]:
    grid = state.view(SIDE, SIDE)
    return (*grid.sum(1).tolist(), *grid.sum(0).tolist())


def main() -> None:
    given = options(__doc__).parse_args()
    count, repeats, grids = (20, 2, 1) if given.quick else (PAPER_QUERIES, 10, GRIDS)
    figures = {"fibres": fibres(count, repeats, given.seed), "lists": lists(grids, 1 if given.quick else 3, given.seed)}
    saved = record("solvers", figures, seed=given.seed, folder=destination(given))
    print(json.dumps({key: value for key, value in saved.items() if key != "measured"}, indent=1))


if __name__ == "__main__":
    main()
