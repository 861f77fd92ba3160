"""Everything between a network's output and its slope as one recording: shown by recordings that a CPU imitates.

An imitation is rehearsed, and works into the same tensors each time it is played, as a GPU's does. What it cannot show
is whether anything asks the device for a value; ``tests/gpu`` does, on a GPU. What goes beside is watched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from torch import Tensor

import softground as sg
from branches import watched
from softground.gpu import recorded
from softground.kernels import Exact, Guided, Kernel
from softground.learner import judging
from softground.objectives import SoftenedGrounding, Supervised, Usage
from softground.projections import RandomDrop
from softground.schedules import Constant, Exponential

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
        for module in (recorded, judging):
            patch.setattr(module, "recordable", lambda *inputs: not recorded._at_work.get())
        patch.setattr(recorded, "rehearsed", lambda function: [function() for _ in range(2)])

        def taken(function: Callable[[], Any], *_: Any) -> tuple[Imitation, Any]:
            with watched() as branch:
                outputs = function()
            assert branch.entries
            assert not branch.faults
            return Imitation(function, outputs), outputs

        patch.setattr(recorded, "taken", taken)
        patch.setattr(torch.cuda, "get_rng_state", lambda: None)
        patch.setattr(torch.cuda, "set_rng_state", lambda state: None)
        if not memory:
            patch.setattr("softground.learner.training.Training.memory", lambda self, number: [])
        yield


def kernel(name: str, task: sg.Task) -> Kernel:
    inverse = sg.Table(task.constraint) if isinstance(task.constraint, sg.Program) else task.inverse
    return Guided(inverse, RandomDrop(SPACE, 1), marginals=True) if name == "guided" else Exact(inverse, late=True)


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


def left(learner: sg.Learner) -> list[Tensor]:
    """What a fit leaves: weights, chains, places in the streams."""
    state = learner.loop.parts[0].objectives[0].state()
    return [*learner.network.state_dict().values(), *state.values(), learner.loop.streams.dice.state()]


CASES: dict[str, dict[str, Any]] = {
    "exact": {"walk": "exact"},
    "guided": {"walk": "guided"},
    "scan": {"walk": "scan"},
    "labels": {"walk": "labels"},
    "cooling": {"walk": "guided", "schedule": Exponential(alpha=0.7)},
    "prior": {"walk": "exact", "terms": (Usage("uniform", 1.0),)},
    "accumulated": {"walk": "exact", "accumulate": 2},
}


@pytest.mark.parametrize("name", CASES)
def test_a_recorded_judgement_is_the_judgement(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = fitted(**CASES[name])
    with imitated(monkeypatch):
        played = fitted(**CASES[name])
    assert any(whole is not None and whole.names for whole in played.loop.parts[0].judge._recorded.values())
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
    chains = [learner.loop.parts[0].objectives[0].state()["chains"] for learner in (plain, played)]
    assert not torch.equal(*chains)


@pytest.mark.parametrize("reason", ["noise", "own term", "own objective"])
def test_what_may_ask_for_values_is_not_recorded(reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Own(sg.Term):
        def loss(self, task: Any, batch: Any, share: float) -> Any:
            return sg.objectives.Outcome(batch.belief.scores.exp().sum() * 0.0, {})

    if reason == "own objective":
        monkeypatch.setattr(SoftenedGrounding, "static", sg.objectives.Objective.static)
    settings: dict[str, Any] = {"noise": {"noise": 0.1}, "own term": {"terms": (Own(),)}}.get(reason, {})
    with imitated(monkeypatch):
        learner = fitted("exact", **settings)
    assert not any(learner.loop.parts[0].judge._recorded.values())


def test_a_recording_that_fails_is_made_up_for(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = fitted("guided")
    with imitated(monkeypatch):
        monkeypatch.setattr(recorded, "taken", _refuse)
        with pytest.warns(UserWarning, match="cannot be recorded"):
            played = fitted("guided")
    assert played.loop.parts[0].judge.refused
    assert all(torch.equal(one, other) for one, other in zip(left(plain), left(played), strict=True))


def _refuse(*_: Any) -> Any:
    raise RuntimeError("operation not permitted when stream is capturing")
