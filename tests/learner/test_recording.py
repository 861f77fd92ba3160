"""Everything between a network's output and its slope as one recording: shown by recordings that a CPU imitates.

An imitation is rehearsed, and works into the same tensors each time it is played, as a GPU's does. What it cannot show
is a kernel that cannot be recorded; ``tests/gpu`` does, on a GPU.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from torch import Tensor

import softground as sg
from softground.kernels import Exact, Guided, Kernel
from softground.learner import recording
from softground.learner.loop import Loop
from softground.learner.recording import Recorded, RecordedHalf
from softground.projections import RandomDrop
from softground.schedules import Constant, Exponential
from softground.training import Batch, SoftenedGrounding, Supervised, Usage

SPACE = sg.Categorical([range(6)] * 3)
TRUTH = torch.randint(0, 6, (70, 3), generator=torch.Generator().manual_seed(0))
PRINTS = torch.rand(6, 12, generator=torch.Generator().manual_seed(1))


class Imitation:
    """A graph whose replay does the work again and overwrites what it gave."""

    def __init__(self, function: Callable[[], Any], outputs: Any) -> None:
        self.function, self.outputs = function, outputs

    def replay(self) -> None:
        for old, new in zip(self.outputs, self.function(), strict=True):
            old.copy_(new)


@contextmanager
def imitated(monkeypatch: pytest.MonkeyPatch, memory: bool = True) -> Iterator[None]:
    """Recordings on a CPU; without ``memory``, rehearsals leave their traces in it."""
    with monkeypatch.context() as patch:
        begin = Loop.begin_stage

        def begin_stage(self: Loop, stage: sg.Stage) -> list[float]:
            rates = begin(self, stage)
            self.half = RecordedHalf(self.half, self.streams.dice)
            return rates

        patch.setattr(Loop, "begin_stage", begin_stage)
        patch.setattr(recording, "recordable", lambda *inputs: not recording._at_work.get())
        patch.setattr(recording, "rehearsed", lambda function: [function() for _ in range(2)])

        def taken(function: Callable[[], Any], *_: Any) -> tuple[Imitation, Any]:
            outputs = function()
            return Imitation(function, outputs), outputs

        patch.setattr(recording, "taken", taken)
        # Two that ask on a CPU alone: whether codes are in range, and what is too small for plain products.
        patch.setattr("softground.kernels.base.one_hot", lambda z, width: torch.eye(width, dtype=torch.long)[z])
        patch.setattr("softground.constraints.scan.messages.OneByOne._plain", lambda self, scores: False)
        patch.setattr(torch.cuda, "get_rng_state", lambda: None)
        patch.setattr(torch.cuda, "set_rng_state", lambda state: None)
        if not memory:
            patch.setattr(recording, "Recorded", lambda work, generator, memory: Recorded(work, generator))
        yield


def kernel(name: str, task: sg.Task) -> Kernel:
    inverse = sg.inverses.Table(task.constraint) if isinstance(task.constraint, sg.Program) else task.inverse
    return Guided(inverse, RandomDrop(SPACE, 1), marginals=True) if name == "guided" else Exact(inverse)


def fitted(walk: str, schedule: Any = None, terms: Any = (), **settings: Any) -> sg.Learner:
    """A short fit, with batches of two sizes."""
    rule: Any = sg.Program(lambda a, b, c: a + 2 * b + c, SPACE)
    task = sg.Task(SPACE, rule if walk != "scan" else sg.Scan(lambda total, s, t: total + s + s * (t == 1), SPACE))
    if walk == "labels":
        objective: Any = Supervised()
    else:
        objective = SoftenedGrounding(kernel(walk, task), schedule or Constant(1.0))
    stage = sg.Stage("I", objective, 6, lambda p: torch.optim.Adam(p, lr=0.02), terms=terms)
    data = sg.Examples(PRINTS[TRUTH], [int(a + 2 * b + c) for a, b, c in TRUTH.tolist()], symbols=TRUTH)
    with sg.seeded(0):
        network = torch.nn.Sequential(torch.nn.Linear(12, 16), torch.nn.ReLU(), torch.nn.Linear(16, 6))
    return sg.Learner(task, network, [stage], batch_size=16, **settings).fit(data, quiet=True)


def recordings(learner: sg.Learner) -> list[Any]:
    """The recordings of a fit's half steps that were played."""
    half = learner.loop.half
    assert isinstance(half, RecordedHalf)
    return [each for each in half._recorded.values() if each is not None]


def left(learner: sg.Learner) -> list[Tensor]:
    """What a fit leaves: weights, chains, places in the streams."""
    memory = learner.loop.parts[0].memory[0]
    return [*learner.network.state_dict().values(), *memory.values(), learner.loop.streams.dice.state()]


CASES: dict[str, dict[str, Any]] = {
    "exact": {"walk": "exact"},
    "guided": {"walk": "guided"},
    "scan": {"walk": "scan"},
    "labels": {"walk": "labels"},
    "cooling": {"walk": "guided", "schedule": Exponential(alpha=0.7)},
    "prior": {"walk": "exact", "terms": (Usage("uniform", 1.0),)},
    "accumulated": {"walk": "exact", "accumulate": 2},
    "noise": {"walk": "exact", "noise": 0.1},
}


@pytest.mark.parametrize("name", CASES)
def test_a_recorded_half_is_the_half(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = fitted(**CASES[name])
    with imitated(monkeypatch):
        played = fitted(**CASES[name])
    assert any(each.names for each in recordings(played))
    for one, other in zip(left(plain), left(played), strict=True):
        assert torch.allclose(one.double(), other.double(), atol=1e-5)
    for one, other in zip(plain.history_, played.history_, strict=True):
        assert one.keys() == other.keys()
        for figure in one.keys() - {"seconds", "stage"}:
            assert one[figure] == pytest.approx(other[figure], abs=1e-4)


def test_a_rehearsal_that_leaves_traces_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A chain that goes on from where a rehearsal walked it to is another chain."""
    plain = fitted("guided")
    with imitated(monkeypatch, memory=False):
        played = fitted("guided")
    chains = [learner.loop.parts[0].memory[0]["chains"] for learner in (plain, played)]
    assert not torch.equal(*chains)


class Asks(sg.training.Term):
    """A term that looks at a number, and asks for nothing else."""

    def loss(self, batch: Batch) -> None:
        batch.losses.append(0.0 * float(batch.belief.scores.exp().sum()) * batch.belief.scores.sum())


@pytest.mark.parametrize("reason", ["own term", "own teacher"])
def test_what_asks_for_values_is_not_recorded(reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rehearsal leaves no trace: all is as if nothing had been tried."""
    teach = SoftenedGrounding.teach

    def asks(self: SoftenedGrounding, batch: Batch) -> Tensor:
        assert bool((batch.evidence.scores <= 0).all())
        return teach(self, batch)

    if reason == "own teacher":
        monkeypatch.setattr(SoftenedGrounding, "teach", asks)
    terms = (Asks(),) if reason == "own term" else ()
    plain = fitted("guided", terms=terms)
    with imitated(monkeypatch):
        learner = fitted("guided", terms=terms)
    assert not recordings(learner)
    assert all(torch.equal(one, other) for one, other in zip(left(plain), left(learner), strict=True))


def test_a_recording_that_fails_is_made_up_for(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = fitted("guided")
    with imitated(monkeypatch):
        monkeypatch.setattr(recording, "taken", _refuse)
        with pytest.warns(UserWarning, match="cannot be recorded"):
            played = fitted("guided")
    assert not recordings(played)
    assert all(torch.equal(one, other) for one, other in zip(left(plain), left(played), strict=True))


def _refuse(*_: Any) -> Any:
    raise RuntimeError("operation not permitted when stream is capturing")
