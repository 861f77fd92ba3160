r"""The posterior over symbols, given an input and its answer, as a distribution of PyTorch.

With :math:`w(z) = P_\theta(z|x)^{1/\gamma}`,

.. math:: Q^*(z) = w(z) / M, \qquad M = \sum_{z \in S_y} w(z), \qquad z \in S_y ,

where known symbols leave only the z in S_y that have them. At γ = 1, M is P(y|x), and Q* is P(z|x, y).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import copy
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor
from torch.distributions import Distribution, constraints, register_kl

from ..dice import Sampler
from ..errors import InverseError, SpaceError
from ..inverses.base import solutions
from ..spaces.categorical import CategoricalBelief
from ..target import Target
from .answer_codes import answer_list

if TYPE_CHECKING:
    from .answer_codes import AnswerCodes

DRAWN = 8192  # draws at a time
LISTED = 2**20  # states that may be tried to list S_y


def belief_of(space: Any, logits: Any) -> CategoricalBelief:
    """P(z|x) from logits ``[rows, sites, symbols]``, at least in float32; a belief is taken as it is."""
    if isinstance(logits, CategoricalBelief):
        return logits
    if isinstance(logits, Tensor) and logits.dim() == 4:
        raise SpaceError(
            f"The logits have shape {tuple(logits.shape)}; expected [rows, sites, symbols]. For the members of an "
            "ensemble give space.belief(logits)."
        )
    half = isinstance(logits, Tensor) and logits.dtype in (torch.float16, torch.bfloat16)
    return space.belief(logits.float() if half else logits)  # type: ignore[no-any-return]


class Feasible(constraints.Constraint):
    """The states of S_y that have the known symbols."""

    is_discrete, event_dim = True, 1

    def __init__(self, posterior: Posterior) -> None:
        self.posterior = posterior

    def check(self, value: Tensor) -> Tensor:
        return self.posterior._held(value)[2]


class Posterior(Distribution):
    """P(z|x, y) of every row; values are codes ``[…, sites]``. Made by :meth:`softground.Task.posterior`.

    >>> from softground import Categorical, Program, Task
    >>> space = Categorical([range(3)] * 2)
    >>> task = Task(space, Program(lambda a, b: a + b, space))
    >>> posterior = task.posterior(torch.zeros(1, 2, 3), [3])
    >>> posterior.marginals, posterior.log_mass.exp()
    (tensor([[[0.0000, 0.5000, 0.5000],
             [0.0000, 0.5000, 0.5000]]]), tensor([0.2222]))
    >>> posterior.log_prob(torch.tensor([[1, 2], [1, 1]])[:, None]).exp()
    tensor([[0.5000],
            [0.0000]])
    """

    arg_constraints: ClassVar[dict[str, constraints.Constraint]] = {}
    has_enumerate_support = True

    def __init__(
        self, codes: AnswerCodes, logits: Any, answers: Any = None, *, gamma: float = 1.0, known: Any = None
    ) -> None:
        self.codes, self.task, space = codes, codes.task, codes.task.space
        single = isinstance(logits, Tensor) and logits.dim() == 2
        belief = belief_of(space, logits[None] if single else logits)
        device, count = belief.scores.device, len(belief)
        if single:
            answers, known = [answers], None if known is None else [known]
        elif answers is not None:
            answers = answer_list(answers, count)
        self._places, weights = torch.arange(count, device=device), belief.tempered(gamma)
        self._y, k, _ = codes.explained(answers, known, self._places, device)
        self._known_weight = weights.scores.new_zeros(count) if k is None else weights.log_known(k)
        self._weights = weights if k is None else weights.given(k)
        super().__init__(torch.Size([] if single else [count]), torch.Size([space.sites]), validate_args=False)

    def __repr__(self) -> str:
        return f"Posterior(batch_shape: {tuple(self.batch_shape)}, event_shape: {tuple(self.event_shape)})"

    def expand(self, batch_shape: Any, _instance: Any = None) -> Posterior:
        new = copy(self)
        new._places = self._places.view(self.batch_shape).expand(batch_shape).flatten()
        new._batch_shape = torch.Size(batch_shape)
        return new

    def _law(self, rows: Tensor, ask: Callable[[Any], Tensor]) -> Tensor:
        """Evaluate the law of some rows, in full precision."""
        with torch.autocast(rows.device.type, enabled=False):
            return ask(self.task.inverse.law(Target(self._weights.rows(rows), self._y[rows], 1.0)))

    def _each(self, ask: Callable[[Any], Tensor]) -> Tensor:
        """Evaluate the law for each row of the batch; expanded rows only once."""
        found = self._law(torch.arange(len(self._y), device=self._y.device), ask)[self._places]
        return found.view((*self.batch_shape, *found.shape[1:]))

    @property
    def log_mass(self) -> Tensor:
        """log M, differentiable; at γ = 1 log P(y|x), or log P(y, known|x): ``batch_shape``."""
        mass = self._each(lambda law: law.log_mass()).to(self._weights.scores)
        return mass + self._known_weight[self._places].view(self.batch_shape)

    @property
    def marginals(self) -> Tensor:
        """The probability of each symbol at each site, differentiable: ``[*batch_shape, sites, K]``."""
        return self._each(lambda law: law.marginals())

    @property
    def mode(self) -> Tensor:
        """The most probable state of S_y; ties go to the smallest one."""
        return self._each(lambda law: law.mode())

    def entropy(self) -> Tensor:
        """H[Q*] in nats, differentiable."""
        return self._each(lambda law: law.entropy()).to(self._weights.scores)

    @torch.no_grad()
    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Independent draws, by PyTorch's global generator."""
        shape = self._extended_shape(torch.Size(sample_shape))
        places = self._places.repeat(math.prod(sample_shape))
        dice = Sampler(int(torch.randint(2**62, ())), places.device)
        drawn = [self._law(rows, lambda law: law.draw(dice)) for rows in torch.split(places, DRAWN)]
        return torch.cat(drawn).view(shape)

    def log_prob(self, value: Tensor) -> Tensor:
        """log Q*(z), differentiable; −∞ outside S_y."""
        z, rows, held = self._held(value)
        mass = self._law(torch.arange(len(self._y), device=z.device), lambda law: law.log_mass())
        weight = self._weights.rows(rows).log_prob(z)
        found = weight - mass.to(weight)[rows]
        return found.view(held.shape).masked_fill(~held, -math.inf)

    @property
    def support(self) -> Any:
        """S_y as a constraint: ``support.check(z)`` tests whether z is in it."""
        return Feasible(self)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """The states of S_y, ``[states, *batch_shape, sites]``, if all rows have the same number."""
        listed = self.solutions()
        if not listed or len({len(states) for states in listed}) > 1:
            raise NotImplementedError("The rows' S_y differ in size; solutions() gives a list of states for each row.")
        return torch.stack(listed, 1).view(-1, *self.batch_shape, *self.event_shape)

    def solutions(self) -> list[Tensor]:
        """The states of S_y with the known symbols, ``[states, sites]``, for each row of the batch."""
        space, device = self.task.space, self._y.device
        if space.size <= LISTED:
            states = [space.states(torch.arange(space.size, device=device))] * len(self._y)
        else:
            try:
                found = solutions(self.task.inverse, self._y)
            except InverseError as error:
                raise NotImplementedError(str(error)) from error
            states = [space.states(index) for index in torch.split(found.index, found.count.tolist())]
        each = [self._among(z, row) for row, z in enumerate(states)]
        return [each[place] for place in self._places.tolist()]

    def _among(self, z: Tensor, row: int) -> Tensor:
        rows = torch.full_like(z[:, 0], row)
        return z[self.task.feasible(z, self._y[rows]) & (self._weights.rows(rows).log_prob(z) > -math.inf)]

    def _held(self, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Flat states with the rows they belong to, and whether each value is in the support, in the value's shape."""
        if not isinstance(value, Tensor) or value.is_floating_point() or value.shape[-1:] != self.event_shape:
            given = f"{value.dtype} of shape {tuple(value.shape)}" if isinstance(value, Tensor) else repr(value)
            raise ValueError(
                f"The value is {given}; expected codes, whole numbers of shape […, {self.event_shape[0]}]."
            )
        shape = torch.broadcast_shapes(value.shape[:-1], self.batch_shape)  # type: ignore[no-untyped-call]
        z = value.long().expand(*shape, -1).reshape(-1, *self.event_shape)
        rows = self._places.view(self.batch_shape).expand(shape).flatten()
        states = ((z >= 0) & (z < self.task.space.layout(z.device).sizes)).all(-1)
        z = torch.where(states[:, None], z, self.task.space.layout(z.device).sizes - 1)
        held = self.task.feasible(z, self._y[rows]) & states & (self._weights.rows(rows).log_prob(z) > -math.inf)
        return z, rows, held.view(shape)


@register_kl(Posterior, Posterior)  # type: ignore[no-untyped-call, untyped-decorator]
def _kl(p: Posterior, q: Posterior) -> Tensor:
    r"""KL(p‖q) for two posteriors on the same S_y, by p's marginals: log w is a sum over sites."""
    if p.task is not q.task or p.batch_shape != q.batch_shape or not torch.equal(p._y[p._places], q._y[q._places]):
        raise NotImplementedError("KL is known for posteriors of one task that have the same answers.")
    flat = p.marginals.view(-1, *p.marginals.shape[-2:])

    def expected(of: Posterior) -> Tensor:
        mass = of._each(lambda law: law.log_mass()).to(flat)
        return of._weights.rows(of._places).marginal_log_prob(flat).view(of.batch_shape) - mass

    return expected(p) - expected(q)
