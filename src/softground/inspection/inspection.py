"""``inspect``: examine a task before training, from its rule and some of its answers.

The paper finds its projections by trial and error, looking at entropy, correlation and connectivity (Appendix B,
"Framework guideline"). Here connectivity is measured, and the choice is explained.
"""

import dataclasses
import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import torch

from ..errors import SoftgroundError
from ..files import Json
from ..kernels import Kernel
from ..task import Family, Task
from ..walks.connectivity import Components, joined
from ..walks.ranking import RULE, Ranked, ranking
from ..walks.recommendation import SAMPLE, Recommendation, choose, movement
from ..walks.solutions import Sample, take
from ..walks.time_limit import TimeLimit
from .information import Nearly, nearly, share_told
from .maps import Consistent, consistent_maps
from .renamings import Relabellings, relabellings
from .sizes import Size, size
from .support import Support, declared, everything

SECONDS = 30.0  # time limit of an inspection


@dataclass(frozen=True, eq=False, repr=False)
class Inspection:
    """The result of an inspection. ``print`` it, or use :meth:`to_json`."""

    task: str
    space: str
    states: float  # ∞ for reals, and beyond 10³⁰⁸
    answers: int  # distinct answers examined
    given: int  # answers given
    sampled: bool  # whether there may be other answers than those examined
    sizes: tuple[Size, ...]
    identification: Relabellings | None  # None for reals
    maps: tuple[Consistent, ...]  # under each assumption of what occurs, the narrowest first
    told: float | None  # I(y; z)/H(z), where it can be counted
    nearly: tuple[Nearly, ...]  # maps that explain most answers
    barrier: tuple[Components, ...]  # components under changes of one site
    ranked: tuple[Ranked, ...]
    recommendation: Recommendation
    refused: dict[str, str]  # kernels given that cannot walk here, and why
    left_out: tuple[str, ...]  # parts that the time limit cut short
    seconds: float

    def __str__(self) -> str:
        from .show import as_text

        return as_text(self)

    def __repr__(self) -> str:
        return f"Inspection({self.task!r}: {self.verdict})"

    @property
    def verdict(self) -> str:
        """One sentence on whether the answers identify the symbols, and on how to train."""
        from .show import verdict

        return verdict(self)

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"

    def as_dict(self) -> Json:
        """Everything as plain values; infinities are None."""
        from .show import advice  # here, because tables on a screen take long to import

        return _plain(self) | {"verdict": self.verdict, "advice": list(advice(self.maps)), "ranked_by": RULE}  # type: ignore[no-any-return]

    def to_json(self) -> str:
        """:meth:`as_dict` as one JSON document."""
        return json.dumps(self.as_dict(), ensure_ascii=False)


def inspect(
    task: Task,
    answers: Sequence[object] | None = None,
    *,
    support: object = None,
    kernels: Mapping[str, Kernel] | None = None,
    sample: int = SAMPLE,
    seed: int = 0,
    seconds: TimeLimit | float = SECONDS,
    progress: Callable[[str], None] | None = None,
) -> Inspection:
    """Examine a task before training it.

    Parameters
    ----------
    task
        The task.
    answers
        The training answers; see :func:`~softground.walks.recommend` for when they may be left out.
    support
        The combinations of symbols that occur, where only some do: rows of symbols, a tensor of codes ``[combinations,
        sites]``, or data whose symbols are known (:class:`~softground.Examples` with ``symbols`` or ``known``).
    kernels
        Your own kernels by name, compared with the others; ``refused`` gives the reason if a kernel cannot walk here.
    sample, seed
        The number of distinct answers to use, and the seed that determines every draw.
    seconds
        The time limit; ``math.inf`` for none. ``left_out`` names the parts that did not finish.
    progress
        Called with a few words as each part begins.

    >>> from softground import Categorical, Program
    >>> space = Categorical([range(2), range(2)])
    >>> found = inspect(Task(space, Program(lambda a, b: a ^ b, space)), [0, 1])
    >>> found.identification.count, found.identification.examples, found.maps[0].every.count
    (2, ('0 ↔ 1',), 2)
    """
    if isinstance(task, Family):
        raise SoftgroundError(f"{task} was given; inspect its tasks one at a time: inspect(family[…], answers).")
    began = time.monotonic()
    limit = seconds if isinstance(seconds, TimeLimit) else TimeLimit(seconds)
    parts: dict[str, TimeLimit] = {}

    def part(name: str, share: float) -> TimeLimit:
        if progress is not None:
            progress(name)
        parts[name] = limit.part(share)
        return parts[name]

    space = task.space
    taken = take(task, answers, sample, seed, part("solutions of the answers", 0.2))
    counting = part("size of S_y", 0.1)
    sizes = tuple(size(task, f, seed, counting) for f in taken.found)
    names = part("relabellings", 0.25)
    symbols = relabellings(task, taken, names) if space.categorical else None
    occurs = part("combinations that occur", 0.15)
    narrow = [declared(task, support, taken, answers)] if symbols and support is not None else []
    occurring = [*narrow, everything(task, taken, seed, occurs)] if symbols else []
    maps = _maps(task, occurring, symbols, part("maps of symbols", 0.4)) if symbols else ()
    told = share_told(task, narrow[0] if narrow else None, answers)
    near = nearly(task, occurring[0], part("readings that explain nearly every answer", 0.1)) if symbols else ()
    refused = {name: _refused(task, kernel, taken, seed) for name, kernel in (kernels or {}).items()}
    walking = {name: kernel for name, kernel in (kernels or {}).items() if not refused[name]}
    ranked = ranking(task, taken, walking, part("projections", 0.8), seed)
    best = choose(task, taken, ranked, seed, part("recommendation", 1.0))
    return Inspection(
        task=task.name,
        space=f"{space.sites} sites" + (f", {len(space.symbols)} symbols" if space.categorical else ""),
        states=float(space.size) if space.categorical and space.size < 1e308 else math.inf,
        answers=len(taken.found),
        given=taken.of,
        sampled=not taken.whole,
        sizes=sizes,
        identification=symbols,
        maps=maps,
        told=told,
        nearly=near,
        barrier=joined(task, taken, [()], change=True) if space.categorical else (),
        ranked=tuple(ranked),
        recommendation=best,
        refused={name: why for name, why in refused.items() if why},
        left_out=tuple(name for name, share in parts.items() if share.reached),
        seconds=time.monotonic() - began,
    )


def _maps(task: Task, occurring: Sequence[Support], known: Relabellings, limit: TimeLimit) -> tuple[Consistent, ...]:
    """The maps that fit what occurs, under each assumption."""
    *narrow, full = occurring
    wide = consistent_maps(task, full, limit.part(0.5) if narrow else limit, known)
    found = []
    for some in narrow:
        same = bool(torch.isin(some.y, full.y).all())  # the answers for which the renamings are known
        found.append(consistent_maps(task, some, limit, known if same else None, wide if same else None, full))
    return (*found, wide)


def _refused(task: Task, kernel: Kernel, sample: Sample, seed: int) -> str:
    """Why a kernel cannot take a step here; empty if it can."""
    try:
        movement(task, kernel, sample, 1.0, seed, TimeLimit(0.0))
    except SoftgroundError as error:
        return str(error)
    return ""


def _plain(value: object) -> Any:
    """Dataclasses as dicts, kernels by name, and None for infinities, which JSON does not know."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Kernel):
        return type(value).__name__
    if isinstance(value, tuple):
        return [_plain(v) for v in value]
    if dataclasses.is_dataclass(value):
        return {f.name: _plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    return value if isinstance(value, str | int | float | dict | None) else repr(value)
