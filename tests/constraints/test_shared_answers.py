"""One rule stated twice: a fast program checks states, a Z3 formula inverts projections, and both know the answers."""

from __future__ import annotations

import torch

from softground import SMT
from softground.inverses import Z3, Table
from softground.projections import Dropped
from softground.tasks.formulas import formula_program
from softground.tasks.formulas.rule import formula_rule


def test_a_formula_understands_the_programs_answers() -> None:
    program = formula_program(5)
    inverse = Z3(SMT(formula_rule, program.space, answers=program))
    generator = torch.Generator().manual_seed(0)
    z = (torch.rand(40, 5, generator=generator) * torch.tensor(program.space.sizes)).long()
    from softground.tasks.formulas.data.alphabet import value

    y = program.encode([value(state) for state in program.space.decode(z)])
    dropped = torch.tensor([[0, 4]]).expand(40, -1)
    ours, theirs = inverse.fibre(z, y, Dropped(dropped)), Table(program).fibre(z, y, Dropped(dropped))
    for row in range(40):
        assert ours.values[row][ours.mask[row]].tolist() == theirs.values[row][theirs.mask[row]].tolist()
    start = inverse.start(y[:5], seed=0)
    assert bool(program.feasible(start.z, y[:5]).all())
    assert bool(inverse.rule.feasible(start.z, y[:5]).all())
    assert inverse.rule.answer(y[0]) == program.answer(y[0])
