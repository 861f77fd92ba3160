"""``softground train sdsp``: options, and the experiment they describe."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from ...errors import DataError, LearnerError
from ...learner.stage import Stage
from ...objectives import SoftenedGrounding
from ...schedules import by_name
from ...seeds import seeded, stream
from ...task import Task
from ..experiment import Experiment
from ..options import RunOptions, overridden
from ..stages import make_stages
from .graphs import random_graphs
from .kernels import make_kernel
from .networks import PathGNN, PathMLP
from .presets import PRESETS, KernelName, NetworkName, Preset
from .task import sdsp_task

SPREADS = (1e-6, 1e6)  # distances are whole numbers, most below a hundred


@dataclass(frozen=True, kw_only=True)
class PathOptions(RunOptions):
    """Shortest paths to one vertex: learn distances that lead A* right, from the paths alone."""

    name: ClassVar[str] = "sdsp"

    nodes: int = 30
    """Vertices of a graph."""
    train_size: int = 3000
    """Training graphs."""
    test_size: int = 1000
    """Test graphs."""
    network: NetworkName | None = None
    """mlp: one hidden layer of 128 (the paper's); gnn: message passing along edges."""
    relabel: bool | None = None
    """mlp only: name the vertices of a training graph anew each time it is seen."""
    kernel: KernelName | None = None
    """metropolis is the paper's; gibbs and blocks sample Q* exactly; nearest is γ = 0."""
    inverse: Literal["intervals", "z3"] = "intervals"
    """How the paper's kernel solves for the dropped components: on the device, or by Z3."""
    sigma: float | None = None
    """σ, the spread the network is credited with at γ = 1."""
    margin: float | None = None
    """By how much true next hops must lead in a feasible z, at most 1."""

    def settings(self) -> Preset:
        """The preset with this command's overrides."""
        preset = PRESETS[self.preset]
        settings = overridden(preset, self)
        # There is no uniform law to draw from on an unbounded set: only the paper's walk has a warm-up.
        share = preset.warmup / preset.epochs if settings.kernel == "metropolis" else 0.0
        return replace(settings, warmup=min(preset.warmup, int(settings.epochs * share)))

    def build(self) -> Experiment:
        """Make graphs, task, network and stages."""
        settings = self.settings()
        if not settings.margin <= 1:
            raise DataError(
                f"margin={settings.margin} was given; with whole-number weights a margin above 1 may leave S_y empty."
            )
        low, high = SPREADS
        if not low <= settings.sigma <= high:
            raise DataError(f"sigma={settings.sigma:g} was given; expected a spread from {low:g} to {high:g}.")
        train = random_graphs(self.train_size, self.nodes, stream(self.seed, "train graphs"))
        test = random_graphs(self.test_size, self.nodes, stream(self.seed, "test graphs"))
        task = sdsp_task(self.nodes, settings.sigma, settings.margin, self.inverse)
        with seeded(stream(self.seed, "weights")):
            mlp = settings.network == "mlp"
            network = PathMLP(self.nodes, relabel=settings.relabel) if mlp else PathGNN(self.nodes)
        note = f"Random graphs of {self.nodes} vertices, weights 1 … 9: a spanning tree and more edges, by networkx."
        stages = self.stages(task, settings)
        return Experiment(task, network, stages, train.examples(), test.examples(), settings.batch_size, None, note)

    def stages(self, task: Task, settings: Preset) -> list[Stage]:
        """Supervision or a baseline, or Stage I and, where asked for, Stage II."""
        epochs = settings.epochs

        def grounding(fixed: float | None) -> SoftenedGrounding:
            if settings.kernel == "nearest":
                if fixed is not None:
                    raise LearnerError(
                        f"--objective {self.objective} holds γ at {fixed:g}, but the kernel 'nearest' is γ = 0. Add "
                        "--kernel gibbs, or --preset paper."
                    )
                return _zero(task)
            name, start = (settings.schedule, settings.gamma) if fixed is None else ("constant", fixed)
            schedule = by_name(name, start, settings.floor, settings.warmup, epochs)
            return SoftenedGrounding(make_kernel(settings.kernel, task, settings.steps, settings.marginals), schedule)

        return make_stages(self, settings, task, epochs, grounding, zero=lambda: _zero(task))


@dataclass(frozen=True)
class Zero:
    """The schedule of Stage II: γ = 0."""

    def gamma(self, t: int) -> float:
        """0 in every pass."""
        return 0.0


def _zero(task: Task) -> SoftenedGrounding:
    """Stage II for reals: the nearest feasible points, where Q* ends as γ → 0.

    The paper's Stage II, one's own feasible predictions, teaches nothing here: a Gaussian's gradient at its mean is 0.
    """
    return SoftenedGrounding(make_kernel("nearest", task), Zero())
