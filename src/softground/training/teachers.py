r"""Teachers: the softened grounding (Stage I), the network's own feasible readings (Stage II), and labels.

*Stage I* (Algorithm 1 of the paper). Each example has a Markov chain on S_y. At temperature γ a batch's chains take T
kernel steps towards Q*(z) ∝ P(z|x)^{1/γ}, and their states are the network's targets. If the kernel knows Q*, the
targets are its marginals Q*_i(s) instead: the same expected gradient, without noise or chains. At γ = 1 that is the
gradient of the semantic loss −log P(S_y|x) (Proposition 2).

*Stage II* is γ = 0, where Q* is one-hot at the most probable feasible z. If the network's own reading
:math:`\hat z = \arg\max_z P_\theta(z|x)` lies in S_y, it is that z; the other examples have weight 0.

*Direct supervision* is the reference: the same network and loop, trained on the true symbols.

The energy in Q* is the paper's sum over sites. The loss is a mean over sites, as in the authors' code, so learning
rates carry over between lengths.

Reference: Z. Li et al., Softened Symbol Grounding for Neuro-symbolic Systems, ICLR 2023, Section 4 and Appendix B.1.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from torch import Tensor

from ..errors import LearnerError
from ..inverses.base import Inverse
from ..kernels.base import Kernel
from ..kernels.composed import Composed, default_kernel
from ..kernels.exact import Exact
from ..schedules import Constant, Schedule
from ..target import Target
from ..task import Task
from .first_states import WAITING, first_states, ready
from .step import CHAINS, OBJECTIVES, Batch, Memory, Moment, Teacher, TrainingSet


@OBJECTIVES.register("grounding")
@dataclass(frozen=True)
class SoftenedGrounding(Teacher):
    """Stage I: chains sample Q* as γ falls, and the network learns from the chains.

    Without a kernel, a learner chooses one for the rule and the training answers; with ``steps=0`` it chooses T.
    """

    sums = True
    kernel: Kernel | None = None
    schedule: Schedule = field(default_factory=lambda: Constant(1.0))  # γ per epoch
    steps: int = 1  # T, kernel steps per gradient step
    _gammas: dict[int, float] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.steps < 0:
            raise LearnerError.of(
                {"steps": self.steps},
                "expected one kernel step per gradient step or more, or 0 to choose by how often chains move.",
            )

    @property
    def open(self) -> bool:  # type: ignore[override]
        return self.kernel is None or not self.steps

    def begin(self, task: Task) -> SoftenedGrounding:
        kernel = (self.kernel or default_kernel(task.inverse, task.space)).bound(task)
        return replace(self, kernel=Composed([kernel] * self.steps) if self.steps > 1 else kernel, steps=1)

    def remember(self, train: TrainingSet, seed: int) -> Memory:
        assert self.kernel is not None
        memory = first_states(train, seed)
        return memory if self.kernel.walks else {name: rows for name, rows in memory.items() if name != CHAINS}

    def teach(self, batch: Batch) -> Tensor:
        assert self.kernel is not None
        evidence, y, index = batch.evidence, batch.answers, batch.index
        if WAITING in batch.memory:
            evidence, y, index = ready(batch)
        epoch = batch.moment.epoch
        if epoch not in self._gammas:
            self._gammas[epoch] = self.schedule.gamma(epoch)
        target = Target.at(evidence, y, self._gammas[epoch], checked=True)
        chains = batch.memory.get(CHAINS)
        if chains is None:
            marginals = self.kernel.marginals_of(target)
            batch.note_grounded(marginals)
            return marginals
        z, info = self.kernel.step(batch.dice, chains[index], target)
        chains[index] = z
        batch.figures |= {"acceptance": info.acceptance, "moved": info.moved, "unknown": info.unknown}
        batch.note_grounded(z)
        return z if info.marginals is None else info.marginals

    def numbers(self, moment: Moment) -> dict[str, float]:
        return {"gamma": self.schedule.gamma(moment.epoch)}


@OBJECTIVES.register("semantic")
@dataclass(frozen=True)
class SemanticLoss(Teacher):
    """−log P(S_y|x) by its gradient: the softened grounding at γ = 1, for a task with an exact inverse.

    Reference: J. Xu, Z. Zhang, T. Friedman, Y. Liang and G. Van den Broeck, A semantic loss function for deep learning
    with symbolic knowledge, ICML 2018.
    """

    open = True
    sums = True

    def begin(self, task: Task) -> SoftenedGrounding:
        if not task.inverse.exact and type(task.inverse).set is Inverse.set:
            raise LearnerError(
                f"The semantic loss sums over S_y, and {task.inverse!r} has no law. Use a table, a listing or a scan, "
                "or Z3 or the enumeration of a small space; or sample, with SoftenedGrounding at γ = 1."
            )
        return SoftenedGrounding(Exact(task.inverse))

    def teach(self, batch: Batch) -> Tensor:
        return self.begin(batch.task).teach(batch)


@OBJECTIVES.register("zero")
@dataclass(frozen=True)
class ZeroDegree(Teacher):
    """Stage II: learn from the network's own feasible predictions."""

    def teach(self, batch: Batch) -> Tensor:
        prediction: Tensor = batch.evidence.mode()
        feasible = batch.task.feasible(prediction, batch.answers)
        batch.scale(feasible)
        batch.figures["used"] = feasible
        return prediction

    def numbers(self, moment: Moment) -> dict[str, float]:
        return {"gamma": 0.0}


@OBJECTIVES.register("sup")
@dataclass(frozen=True)
class Supervised(Teacher):
    """Cross-entropy with the true symbols, which the training set must have."""

    weak = False

    def teach(self, batch: Batch) -> Tensor:
        if batch.symbols is None:
            raise LearnerError(
                "Supervised training needs true symbols; this training set lacks them. Give Examples(x, y, symbols)."
            )
        return batch.symbols
