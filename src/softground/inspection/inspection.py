"""``inspect``: what can be known about a task before any training, from its rule and some of its answers.

The paper finds its projections by trial and error, looking at entropy, correlation and connectivity (Appendix B,
"Framework guideline"). Here these are measured, and the choice is explained.
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

from ..kernels import Collapsed, Guided, Kernel
from ..reals import PointMass
from ..task import Task
from . import mixing as chains
from .compare import RULE, Compared, compare, single_site
from .connectivity import Components
from .leading import Led, lead
from .limit import Limit
from .mixing import GAMMAS, Mixing, mix
from .reals import Freedom, freedom
from .recommendation import SAMPLE, Recommendation, choose
from .relabelling import Relabellings, relabellings
from .sample import Sample, take
from .size import Size, sizes


@dataclass(frozen=True, eq=False)
class Inspection:
    """What was found. ``print`` it, or take :meth:`to_json`."""

    task: str
    space: str
    states: float  # ∞ for reals
    answers: int  # distinct answers looked at
    of: int  # answers given
    sizes: tuple[Size, ...]
    identification: Relabellings | Freedom
    barrier: tuple[Components, ...]  # components under changes of one site
    compared: tuple[Compared, ...]
    led: Mapping[str, Led]
    mixing: tuple[Mixing, ...]
    recommendation: Recommendation
    left_out: tuple[str, ...]  # parts that the time limit cut short
    seconds: float

    def __str__(self) -> str:
        from .show import as_text

        return as_text(self)

    def as_dict(self) -> dict[str, Any]:
        """Everything as plain values; infinities are None."""
        best = self.recommendation
        found = {
            "task": self.task,
            "space": {"text": self.space, "states": self.states},
            "answers": {"looked_at": self.answers, "given": self.of},
            "sizes": [dataclasses.asdict(s) | {"exact": s.exact} for s in self.sizes],
            "identification": dataclasses.asdict(self.identification),
            "single_site_components": [dataclasses.asdict(c) for c in self.barrier],
            "ranked_by": RULE,
            "projections": [_projection(c) for c in self.compared],
            "led": {name: dataclasses.asdict(led) for name, led in self.led.items()},
            "mixing": [dataclasses.asdict(m) for m in self.mixing],
            "recommendation": {
                "kernel": best.name,
                "projection": None if best.projection is None else repr(best.projection),
                "steps": best.steps,
                "gamma0": best.gamma0,
                "reasons": list(best.reasons),
            },
            "left_out": list(self.left_out),
            "seconds": self.seconds,
        }
        plain: dict[str, Any] = _plain(found)
        return plain

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
    limit: Limit | float = math.inf,
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
        Kernels of one's own, by name, whose projections and mixing are looked at as well.
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
    say = progress or (lambda text: None)
    began = time.monotonic()
    limit = limit if isinstance(limit, Limit) else Limit(limit)
    parts: dict[str, Limit] = {}

    def part(name: str, share: float) -> Limit:
        say(name)
        parts[name] = limit.part(share)
        return parts[name]

    own = dict(kernels or {})
    taken = take(task, answers, sample, seed, part("solutions of the answers", 0.2))
    counted = sizes(task, taken, part("size of S_y", 0.1), seed)
    names = part("relabellings", 0.25)
    symbols = relabellings(task, taken, names) if task.space.categorical else freedom(task, taken)
    barrier = single_site(task, taken, part("single-site moves", 0.05))
    compared = compare(task, taken, own, part("projections", 0.4), seed)
    led = _lead_all(task, own, taken, part("kernels given", 0.2), seed)
    best = choose(task, taken, compared, led, own, seed)
    measured: list[Mixing] = []
    if mixing:
        measured = _mix_all(task, own, best, compared, taken, part("mixing", 1.0), seed, output)
    states = float(getattr(task.space, "size", math.inf))
    letters = f", {len(task.space.symbols)} symbols" if task.space.categorical else ""
    space = f"{task.space.sites} sites{letters}"
    cut = tuple(name for name, share in parts.items() if share.reached)
    return Inspection(
        task.name,
        space,
        states,
        len(taken.found),
        taken.of,
        tuple(counted),
        symbols,
        barrier,
        tuple(compared),
        led,
        tuple(measured),
        best,
        cut,
        time.monotonic() - began,
    )


def _lead_all(task: Task, kernels: Mapping[str, Kernel], sample: Sample, limit: Limit, seed: int) -> dict[str, Led]:
    """Chains of the kernels given, where S_y cannot be listed."""
    if not task.space.categorical or all(f.count is not None for f in sample.found):
        return {}
    result: dict[str, Led] = {}
    for number, (name, kernel) in enumerate(kernels.items()):
        share = limit.part(1 / (len(kernels) - number))
        found = lead(task.space, kernel, sample, share, seed) if share.left() else None
        limit.reached = limit.reached or share.reached
        if found is not None:
            result[name] = found
    return result


def _mix_all(
    task: Task,
    kernels: Mapping[str, Kernel],
    best: Recommendation,
    compared: Sequence[Compared],
    sample: Sample,
    limit: Limit,
    seed: int,
    output: Tensor | None,
) -> list[Mixing]:
    """The recommended kernel, walks on the best projection, and the kernels given, at each temperature."""
    chosen: dict[str, Kernel] = {best.name: best.kernel}
    usable = [c.candidate for c in compared if c.usable]
    if usable and task.space.categorical:
        c = usable[0]
        chosen[f"Collapsed ({c.name})"] = Collapsed(c.inverse, c.projection, c.move)
        chosen[f"Guided ({c.name})"] = Guided(c.inverse, c.projection)
    for name, kernel in kernels.items():
        # The nearest point is no sampler, and what is there already need not be measured again.
        if not isinstance(kernel, PointMass) and kernel not in chosen.values():
            chosen[name] = kernel
    result = []
    for number, (name, kernel) in enumerate(chosen.items()):
        share = limit.part(1 / (len(chosen) - number))
        for turn, gamma in enumerate(GAMMAS):
            here = share.part(1 / (len(GAMMAS) - turn))
            found = mix(task, name, kernel, gamma, sample, here, seed, output) if here.left() else None
            limit.reached = limit.reached or here.reached
            if found is not None:
                result.append(found)
    return result


def _projection(compared: Compared) -> dict[str, Any]:
    c = compared.candidate
    return {
        "name": c.name,
        "dropped": c.dropped,
        "sets": len(c.sets),
        "usable": compared.usable,
        "connected": compared.connected,
        "satisfactory": compared.satisfactory,
        "fibres": None if compared.fibres is None else dataclasses.asdict(compared.fibres),
        "components": [dataclasses.asdict(x) for x in compared.components],
        "distance": None if compared.distance is None else dataclasses.asdict(compared.distance),
        "led": None if compared.led is None else dataclasses.asdict(compared.led),
    }


def _plain(value: Any) -> Any:
    """Infinities and NaN, which JSON does not know, as None."""
    if isinstance(value, Mapping):
        return {name: _plain(v) for name, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
