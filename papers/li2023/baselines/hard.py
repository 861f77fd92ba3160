r"""The hard groundings: problems (1) and (2) of the paper, which it argues against.

A mapping h gives every input one feasible state, and the network is fitted to it:

.. math:: (1)\ \min_h \min_\theta \ell(\theta), \qquad (2)\ \min_\theta \min_h \ell(\theta), \qquad
          \ell(\theta) = -\sum_i \log P_\theta(h(x_i)|x_i), \quad h(x_i) \in S_{y_i} .

*(1), a feasible mapping.* The paper's solution is 'to first train a network for each feasible mapping, and then select
the one that achieves the final output y with a maximum likelihood', which is 'impractical since the number of feasible
mappings grows exponentially'. A run fits **one** of them, which its seed draws: the inverse's first states, uniform on
S_y where it has a table. More seeds are more of the outer minimum. 'The neural network learning process makes no use of
the knowledge embodied in the symbolic constraint' beyond that draw.

*(2), the best mapping.* Of every example the most probable feasible state is taken, by the network as it stands,

.. math:: h(x) = \arg\max_{z \in S_y} P_\theta(z|x),

and the network is moved towards it. The gradient at that state is the gradient of :math:`\min_h \ell(\theta)` wherever
the maximum is unique, so each step is one of descent on (2) itself: Q* as γ → 0, from the first step on. According to
the paper it 'may easily get trapped into a local optimum', and depends on the network it begins with.

Both losses are divided by the number of sites, like the other objectives'.

Reference: Z. Li et al., ICLR 2023, Section 2.
"""

from dataclasses import dataclass

from torch import Tensor

from softground.errors import LearnerError
from softground.inverses import most_probable
from softground.target import Target
from softground.training.first_states import first_states, ready
from softground.training.step import CHAINS, OBJECTIVES, Batch, Memory, Moment, Teacher, TrainingSet


@OBJECTIVES.register("hard-feasible")
@dataclass(frozen=True)
class FeasibleMapping(Teacher):
    """Problem (1) for one feasible mapping: drawn before the network is looked at, and never changed.

    >>> FeasibleMapping()
    FeasibleMapping()
    """

    def remember(self, train: TrainingSet, seed: int) -> Memory:
        return first_states(train, seed)

    def teach(self, batch: Batch) -> Tensor:
        _, _, index = ready(batch, ask=False)  # examples without a first state are left out
        return batch.memory[CHAINS][index]


@OBJECTIVES.register("hard-best")
@dataclass(frozen=True)
class BestMapping(Teacher):
    """Problem (2): fit the most probable feasible state of the moment; the inverse must know it.

    >>> BestMapping()
    BestMapping()
    """

    open = True

    def remember(self, train: TrainingSet, seed: int) -> Memory:
        memory = first_states(train, seed)  # which says whose answers nothing explains
        return {name: rows for name, rows in memory.items() if name != CHAINS}

    def teach(self, batch: Batch) -> Tensor:
        z = most_probable(batch.task.inverse, Target(batch.evidence, batch.y, 1.0))
        if z is None:
            raise LearnerError(
                f"The best mapping needs the most probable z of all S_y, which {batch.task.inverse!r} does not know. "
                "Tables, listings and scans do; otherwise sample, with SoftenedGrounding at a small γ."
            )
        return z

    def numbers(self, moment: Moment) -> dict[str, float]:
        return {"gamma": 0.0}
