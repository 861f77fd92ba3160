"""The verdict on a run: one sentence on whether the symbols were learnt, and how that was checked.

:func:`verdict_of` is a function of a few figures. Where true symbols of held-out examples are known, they decide. Else
the answers do, with the signs of :mod:`softground.learner.restarts`. Shares of correct answers are compared after the
correction for chance c, as if each of n symbols were correct with the same probability,

.. math:: q = \\left(\\frac{a - c}{1 - c}\\right)^{1/n} .
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ..files import Json

GOOD, HALF = 0.8, 0.5  # of what is above chance
NOISY = 0.45  # a learnt share of wrong answers, which begins at 0.5, that explains nothing
SHOWN = 5  # symbols in a sentence
HELD_OUT, TRAINING = "held-out answers", "training answers only"


@dataclass(frozen=True)
class Verdict:
    """``kind`` is learnt, learnt_up_to_renaming, partly, not_learnt, collapsed, memorised, stopped or unknown."""

    kind: str
    sentence: str
    checked_on: str

    def __str__(self) -> str:
        return self.sentence

    def to_json(self) -> Json:
        """As plain values."""
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class Figures:
    """What a verdict is made of. Shares of answers are those that the network's readings explain."""

    explained: float | None = None  # share of the training answers
    held_out: float | None = None  # share of the held-out answers
    chance: float = 0.0  # share that random symbols explain
    sites: int = 1
    symbols: int = 0  # in the alphabets; 0 for reals
    accuracy: float | None = None  # share of held-out symbols that are correct
    relabelled: float | None = None  # the same, under the one-to-one renaming that fits best
    confused: tuple[tuple[str, str, float], ...] = ()  # symbols most often read as another: (true, read, share)
    unused: tuple[str, ...] = ()  # symbols that are hardly ever read, though the answers leave room for them
    unexplained: bool | None = None  # whether the scaled loss says that the run has failed; None if it is not known
    noise: float | None = None  # the learnt share of wrong answers
    stopped: tuple[int, int] | None = None  # epochs done and planned, of a run that was ended before its time
    names: Mapping[str, Any] | None = None  # other readings of the answers (inspection); None: not examined
    labelled: bool = False  # some symbols were known in training


def quality(share: float, chance: float, sites: int) -> float:
    """The probability that a symbol is correct, corrected for chance, if a share of the answers is.

    >>> round(quality(0.5, 0.1, 1), 2), round(quality(0.9, 0.0, 20), 3), quality(0.05, 0.1, 2)
    (0.44, 0.995, 0.0)
    """
    return float(max(0.0, (share - chance) / max(1 - chance, 1e-9)) ** (1 / max(1, sites)))


def verdict_of(f: Figures) -> Verdict:
    """The verdict on a run.

    >>> verdict_of(Figures(explained=1.0, held_out=0.95, sites=2, symbols=10, accuracy=0.97, relabelled=0.97)).sentence
    'Learnt: all 10 symbols are read; 95.0% of the held-out answers are explained.'
    """
    kind, words = _judged(f)
    if f.held_out is not None:
        return Verdict(kind, f"{words}.", HELD_OUT)
    return Verdict(kind, f"{words}{', ' if kind != 'unknown' else '; '}checked on {TRAINING}.", TRAINING)


def headline(f: Figures) -> list[Json]:
    """At most three figures with chance beside them, for the end of a run: shares, or a count ``of`` a number.

    >>> [one["name"] for one in headline(Figures(explained=1.0, symbols=10))]
    ['training answers explained', 'symbols in use']
    """
    one = 1 / max(1, f.symbols)
    shares = (
        ("held-out answers explained", f.held_out, f.chance),
        ("held-out symbols correct", f.accuracy, one),
        ("training answers explained", f.explained, f.chance),
    )
    found: list[Json] = [{"name": n, "value": v, "chance": c} for n, v, c in shares if v is not None]
    if f.accuracy is None and f.symbols:
        found.append({"name": "symbols in use", "value": f.symbols - len(f.unused), "of": f.symbols})
    return found


def _judged(f: Figures) -> tuple[str, str]:
    known = f.explained if f.held_out is None else f.held_out
    if known is None:
        return "unknown", "Unknown: no answers show what the network reads"
    which = "training" if f.held_out is None else "held-out"
    share = f"{known:.1%} of the {which} answers are explained"
    against = f"{share} (chance {f.chance:.1%})"
    if f.stopped:
        return "stopped", f"Stopped after {f.stopped[0]:,} of {f.stopped[1]:,} epochs: {against}"
    one = 1 / max(1, f.symbols)
    right, renamed = ((None if s is None else quality(s, one, 1)) for s in (f.accuracy, f.relabelled))
    trained = known if f.explained is None else f.explained
    better = quality(trained, f.chance, 1)
    read = quality(known, f.chance, f.sites) if right is None else right
    merged = bool(f.unused) and (better >= HALF or len(f.unused) >= f.symbols / 2 or f.unexplained is False)
    if right is not None and right >= GOOD and not f.unused:
        if f.confused:
            return "partly", f"Partly learnt: {_confusions(f)}; {share}"
        return "learnt", f"Learnt: all {f.symbols} symbols are read; {share}"
    ones = f"{known:.1%} of the held-out ones (chance {f.chance:.1%})"
    far = quality(known, f.chance, 1) < better / 2 and (renamed is None or renamed < GOOD)
    if f.held_out is not None and better >= GOOD and far and read < 0.6:
        return "memorised", f"Memorised: {trained:.1%} of the training answers are explained, but only {ones}"
    if merged:
        never = f"{_listed(f.unused)} {'is' if len(f.unused) == 1 else 'are'} never read"
        return (
            "collapsed",
            f"Collapsed: {never}, though {share}" if better >= HALF else f"Collapsed: {never}; {against}",
        )
    if f.noise is not None and f.noise >= NOISY:
        return "not_learnt", f"Not learnt: the learnt share of wrong answers is {f.noise:.0%}; {against}"
    if right is not None:
        answered = not f.unexplained and quality(known, f.chance, 1) >= HALF
        if (renamed is not None and renamed >= GOOD) or (answered and quality(known, f.chance, f.sites) >= GOOD):
            return _renamed(f, share)
        confused = f"; {_confusions(f)}" if f.confused else ""
        kind, words = ("partly", "Partly") if right >= HALF or answered else ("not_learnt", "Not")
        return kind, f"{words} learnt: {against}{confused}"
    if f.unexplained or better < HALF > read or (f.unexplained is None and better < HALF):
        return ("partly", f"Partly learnt: {against}") if better >= HALF else ("not_learnt", f"Not learnt: {against}")
    if read < GOOD or f.unused:
        return "partly", f"Partly learnt: {against}"
    return ("learnt", f"Learnt: {share}") if f.labelled or not f.symbols else _renamed(f, share)


def _renamed(f: Figures, share: str) -> tuple[str, str]:
    """The verdict where only a one-to-one renaming may lie between the network's names and the true ones."""
    found = f.names or {}
    if found.get("one_to_one", 1) > 1:
        apart = f"the answers cannot tell {_listed(found['disagree'])} apart"
        return "learnt_up_to_renaming", f"Learnt up to renaming: {apart}; {share}"
    if f.relabelled is not None:
        return "partly", f"Partly learnt: {share}, but symbols have each other's names: {_confusions(f)}"
    if not found.get("finished"):
        return "partly", f"Partly learnt: {share}, and whether they identify all symbols is not settled"
    return "learnt", f"Learnt: all {f.symbols} symbols are read; {share}"


def _confusions(f: Figures) -> str:
    return ", ".join(f"{true} is read as {read} ({share:.0%})" for true, read, share in f.confused[:3])


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(str, names[:SHOWN])) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")
