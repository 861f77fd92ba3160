"""``inspect``: what can be known about a task before any training, from its rule and some of its answers.

The paper finds its projections by trial and error, looking at entropy, correlation and connectivity (Appendix B,
"Framework guideline"). Here connectivity is measured, and the choice is explained.
"""

from __future__ import annotations

import dataclasses
import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from ..errors import SoftgroundError
from ..kernels import Guided, Kernel
from ..reals import PointMass
from ..spaces.categorical import Categorical
from ..task import Task
from . import mixing as chains
from .connectivity import Components
from .mixing import GAMMAS, Mixing, mix
from .ranking import RULE, Ranked, ranking, single_site
from .real_maps import RealMaps, real_maps
from .recommendation import SAMPLE, Recommendation, choose, movement
from .relabelling import Relabellings, relabellings
from .sample import Sample, take
from .size import Size, sizes
from .time_limit import TimeLimit


@dataclass(frozen=True, eq=False)
class Inspection:
    """What was found. ``print`` it, or take :meth:`to_json`."""

    task: str
    space: str
    states: float  # ∞ for reals
    answers: int  # distinct answers looked at
    given: int  # answers given
    sizes: tuple[Size, ...]
    identification: Relabellings | RealMaps
    barrier: tuple[Components, ...]  # components under changes of one site
    ranked: tuple[Ranked, ...]
    mixing: tuple[Mixing, ...]
    recommendation: Recommendation
    refused: Mapping[str, str]  # kernels given that cannot walk here, and why
    left_out: tuple[str, ...]  # parts that the time limit cut short
    seconds: float

    def __str__(self) -> str:
        from .show import as_text

        return as_text(self)

    def as_dict(self) -> dict[str, Any]:
        """Everything as plain values; infinities are None."""
        plain: dict[str, Any] = _plain(self)
        return plain | {"ranked_by": RULE}

    def to_json(self) -> str:
        """:meth:`as_dict` as one JSON document."""
        return json.dumps(self.as_dict(), ensure_ascii=False)


def inspect(
    task: Task,
    answers: Sequence[Any] | None = None,
    *,
    kernels: Mapping[str, Kernel] | None = None,
    output: Tensor | None = None,
    sample: int = SAMPLE,
    seed: int = 0,
    mixing: bool = True,
    limit: TimeLimit | float = math.inf,
    progress: Callable[[str], None] | None = None,
) -> Inspection:
    """Look at a task before training it.

    Parameters
    ----------
    task
        The task.
    answers
        The training answers; see :func:`~softground.inspection.recommend` for when they may be left out.
    kernels
        Kernels of one's own, by name, which are led and mixed as well. One that cannot walk here is named in
        ``refused``, with the reason, and left out.
    output
        A network's output on inputs (any will do), for the belief that chains mix under; by default a lopsided belief
        is made up.
    sample, seed
        How many distinct answers to look at, and what decides every draw.
    mixing
        Whether to run chains and measure ESS and R̂, which needs arviz-stats (the extra ``inspect``).
    limit
        Seconds that it may take. What is not done by then is left out, and named in ``left_out``.
    progress
        Called with a few words as each part begins.

    >>> from softground import Categorical, Program
    >>> space = Categorical([range(2), range(2)])
    >>> found = inspect(Task(space, Program(lambda a, b: a ^ b, space)), [0, 1], mixing=False)
    >>> found.identification.count, found.identification.examples
    (2, ('0 ↔ 1',))
    """
    if mixing:
        chains.require()
    began = time.monotonic()
    limit = limit if isinstance(limit, TimeLimit) else TimeLimit(limit)
    parts: dict[str, TimeLimit] = {}

    def part(name: str, share: float) -> TimeLimit:
        if progress is not None:
            progress(name)
        parts[name] = limit.part(share)
        return parts[name]

    space = task.space
    categorical = isinstance(space, Categorical)
    taken = take(task, answers, sample, seed, part("solutions of the answers", 0.2))
    counted = sizes(task, taken, part("size of S_y", 0.1), seed)
    names = part("relabellings", 0.25)
    symbols = relabellings(task, taken, names) if categorical else real_maps(task, taken)
    barrier = single_site(task, taken, part("single-site moves", 0.05))
    walking, refused = _walking(task, kernels or {}, taken, seed)
    ranked = ranking(task, taken, walking, part("projections", 0.5), seed)
    best = choose(task, taken, ranked, seed)
    measured: list[Mixing] = []
    if mixing:
        measured = _mix_all(task, walking, best, ranked, taken, part("mixing", 1.0), seed, output)
    return Inspection(
        task=task.name,
        space=f"{space.sites} sites" + (f", {len(space.symbols)} symbols" if categorical else ""),
        states=float(space.size) if categorical else math.inf,
        answers=len(taken.found),
        given=taken.of,
        sizes=counted,
        identification=symbols,
        barrier=barrier,
        ranked=tuple(ranked),
        mixing=tuple(measured),
        recommendation=best,
        refused=refused,
        left_out=tuple(name for name, share in parts.items() if share.reached),
        seconds=time.monotonic() - began,
    )


def _walking(
    task: Task, kernels: Mapping[str, Kernel], sample: Sample, seed: int
) -> tuple[dict[str, Kernel], dict[str, str]]:
    """The kernels that can take a step here, and why the others cannot."""
    walking, refused = dict(kernels), {}
    for name, kernel in kernels.items():
        try:
            movement(task, kernel, sample, 1.0, seed, trials=1)
        except SoftgroundError as error:
            refused[name] = str(error)
            del walking[name]
    return walking, refused


def _mix_all(
    task: Task,
    kernels: Mapping[str, Kernel],
    best: Recommendation,
    ranked: Sequence[Ranked],
    sample: Sample,
    limit: TimeLimit,
    seed: int,
    output: Tensor | None,
) -> list[Mixing]:
    """The recommended kernel, walks on the best projection, and the kernels given, at each temperature."""
    chosen: dict[str, Kernel] = {best.name: best.kernel}
    first = next((r for r in ranked if r.usable and r.candidate), None)
    if first is not None and first.candidate is not None:
        chosen[f"Collapsed ({first.name})"] = first.kernel
        chosen[f"Guided ({first.name})"] = Guided(task.inverse, first.candidate.projection)
    # The nearest point is no sampler, and what is there already need not be measured again.
    own = {n: k for n, k in kernels.items() if not isinstance(k, PointMass) and k not in chosen.values()}
    runs = [(name, kernel, gamma) for name, kernel in (chosen | own).items() for gamma in GAMMAS]
    result = []
    for number, (name, kernel, gamma) in enumerate(runs):
        share = limit.part(1 / (len(runs) - number))
        found = mix(task, name, kernel, gamma, sample, share, seed, output) if share.left() else None
        limit.reached = limit.reached or share.reached
        result += [found] if found is not None else []
    return result


def _plain(value: Any) -> Any:
    """Dataclasses as dicts, parts of the library by their repr, and None for infinities, which JSON does not know."""
    if isinstance(value, str | int | None):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if isinstance(value, Mapping):
        return {name: _plain(v) for name, v in value.items()}
    if type(value).__module__.startswith(__package__):
        return {f.name: _plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    return repr(value)
