"""What the baselines' tests share: easy problems that train in a second or two, and gradients over all outcomes."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from exhaustive import Replay
from lessons import Lesson
from problems import Problem
from softground import Examples, Learner, Stage, Task
from softground.tasks.formulas import formula_task
from softground.tasks.formulas.data.alphabet import value
from softground.training import Teacher
from sudoku_cases import BOARDS

NOISE = 0.2


def one_hot(symbols: Tensor, width: int, generator: torch.Generator) -> Tensor:
    """Symbols as noisy one-hot vectors: a linear network can read them."""
    noise = torch.randn(*symbols.shape, width, generator=generator)
    return nn.functional.one_hot(symbols, width).float() + NOISE * noise


def formulas(task: Task, count: int, seed: int = 0) -> Examples:
    """Random formulas with their values; a digit looks the same at every site."""
    generator, space = torch.Generator().manual_seed(100 + seed), task.space
    z = (torch.rand(count, space.sites, generator=generator) * torch.tensor(space.sizes)).long()
    seen = space.layout(z.device).columns.expand(count, -1, -1).gather(2, z[..., None]).squeeze(2)
    return Examples(one_hot(seen, space.outputs, generator), [value(state) for state in space.decode(z)], z)


def boards(count: int, seed: int = 0) -> Examples:
    """Random 4×4 boards."""
    generator = torch.Generator().manual_seed(200 + seed)
    z = BOARDS[torch.randint(len(BOARDS), (count,), generator=generator)]
    return Examples(one_hot(z, 4, generator), [True] * count, z)


def half_trained() -> nn.Linear:
    """Reads a fifth of the boards rightly; of a hundred boards drawn from it, one is valid."""
    network = nn.Linear(4, 4)
    with torch.no_grad():
        network.weight.copy_(3 * torch.eye(4) + torch.randn(4, 4, generator=torch.Generator().manual_seed(1)))
        network.bias.zero_()
    return network


def reads_formulas(objective: Teacher, length: int, epochs: int, count: int = 400, rate: float = 0.05) -> Learner:
    """A linear network trained on formulas from their values alone, from all zeros."""
    task = formula_task(length)
    network = nn.Linear(task.space.outputs, task.space.outputs)
    nn.init.zeros_(network.weight)
    nn.init.zeros_(network.bias)
    return train(task, network, objective, formulas(task, count), formulas(task, 200, seed=1), epochs, rate)


def train(
    task: Task, network: nn.Module, objective: Teacher, data: Examples, test: Examples, epochs: int, rate: float
) -> Learner:
    """One stage of Adam, in batches of 32."""
    stage = Stage("I", objective, epochs, lambda p: torch.optim.Adam(p, lr=rate))
    learner = Learner(task, network, [stage], batch_size=32, device="cpu", evaluate_every=1000)
    return learner.fit(data, test)


def logits(problem: Problem, seed: int = 0) -> Tensor:
    """A network's output for one example, far from symmetric."""
    shape = (1, problem.space.sites, problem.space.outputs)
    return 1.5 * torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def expected_gradient(problem: Problem, make: Callable[[], Lesson]) -> Tensor:
    """The loss's gradient in the output, added up over **all** outcomes of its draws: ``[1, sites, outputs]``.

    ``make`` returns the lesson as it stands before the step, of one example.
    """
    probability = torch.ones(1, dtype=torch.float64)
    decided = torch.zeros(1, 0, dtype=torch.long)
    while True:
        rows, dice = len(decided), Replay(decided)
        output = logits(problem).repeat(rows, 1, 1).requires_grad_()
        same = torch.zeros(rows, dtype=torch.long)  # every row is the one example
        outcome = make().loss(problem.space.belief(output), same, dice)
        if dice.next is None:
            break
        row, choice = dice.next.nonzero(as_tuple=True)
        probability = probability[row] * dice.next[row, choice]
        decided = torch.cat([decided[row], choice[:, None]], 1)
    (gradient,) = torch.autograd.grad(outcome.loss * rows, output)  # the loss is a mean over rows
    assert torch.allclose(probability.sum(), torch.ones((), dtype=torch.float64))
    return (probability[:, None, None] * gradient).sum(0, keepdim=True)


def gradient_of(problem: Problem, loss: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    """The gradient of ``loss(log P of every reading, whether it is feasible)``, by brute force."""
    output = logits(problem).requires_grad_()
    z, feasible = problem.readings
    log_p = problem.space.belief(output.expand(len(z), -1, -1)).log_prob(z)
    (gradient,) = torch.autograd.grad(loss(log_p, feasible), output)
    return gradient
