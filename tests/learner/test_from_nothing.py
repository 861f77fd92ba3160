"""How grounding is chosen before training, the signs that a run has failed, and further starts."""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import softground as sg
from learner_cases import Stop, adam, addition, assert_same_run, classifier, equal, examples, stop_at, weights
from softground.errors import CheckpointError, LearnerError
from softground.learner import restarts
from softground.runs import RunFolder
from softground.schedules import Constant, Exponential, Linear
from softground.training import SoftenedGrounding
from softground.training.information import drawn_usage, left_open, told

MIXED = sg.Categorical([(0, 1, 2), ("+", "-"), (1, 2, 0)])


@pytest.fixture(autouse=True, scope="module")
def no_waiting_for_the_disk() -> Iterator[None]:
    """Durability is tested elsewhere."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield


def signed(a: int, sign: str, b: int) -> int:
    return a + b if sign == "+" else a - b


@pytest.mark.parametrize("pinned", [False, True])
def test_what_answers_tell_is_counted(pinned: bool) -> None:
    rule = sg.Program(signed, MIXED)
    task, y = sg.Task(MIXED, rule), rule.encode([3, 0, 2, 1])
    known = torch.full((4, 3), -1)
    if pinned:
        known[0, 1], known[2, 0] = 0, 1
    states, symbols = MIXED.states(torch.arange(MIXED.size)), list(MIXED.symbols)
    left, usage = [], torch.zeros(len(symbols), dtype=torch.double)
    for row in range(4):
        fits = rule.feasible(states, y[row].expand(len(states))) & ((known[row] < 0) | (states == known[row])).all(1)
        own = states[fits]
        left.append(math.log(len(own)))
        for state in MIXED.decode(own):
            for site, symbol in enumerate(state):
                if known[row, site] < 0:
                    usage[symbols.index(symbol)] += 1 / len(own)
    given = known if pinned else None
    assert torch.allclose(left_open(task, y, given), torch.tensor(left, dtype=torch.double))
    assert torch.allclose(drawn_usage(task, y, given), usage / usage.sum())
    every = math.log(18) - (math.log(2) + math.log(3)) / 4 * pinned
    nats, log_size = told(task, y, given)
    assert (nats, log_size) == pytest.approx((every - sum(left) / 4, every))


def settled(task: sg.Task, answers: list[Any], sites: int, stages: list[sg.Stage] | None = None, **given: Any) -> Any:
    """A learner that has trained for an epoch or more on inputs that say nothing."""
    network = nn.Linear(1, len(task.space.symbols))
    data = sg.Examples(torch.zeros(len(answers), sites, 1), answers)
    stages = stages or sg.grounding_stages(task, epochs=6)
    return sg.Learner(task, network, stages, device="cpu", **given).fit(data, quiet=True)


def ways(learner: sg.Learner) -> tuple[str, bool, Any]:
    stage = learner.stages[0]
    schedule: Any = stage.objective.schedule  # type: ignore[attr-defined]
    return learner.ways[0], bool(stage.scaled), schedule


def test_the_way_is_chosen_by_what_answers_tell() -> None:
    pair = addition(2)
    assert ways(settled(pair, [0, 3, 6], 2)) == ("annealed", True, Linear(2.0, 0.5, 1.0))
    short = sg.grounding_stages(pair, epochs=5)
    assert ways(settled(pair, [0, 3, 6], 2, short)) == ("annealed", True, Constant(1.0))
    space = sg.Categorical([range(4)] * 12)
    row = sg.Task(space, sg.Scan(operator.add, space, vectorised=True))
    assert ways(settled(row, [16, 17, 20], 12)) == ("scaled", True, Constant(1.0))
    bits = sg.Categorical([range(2)] * 3)
    truth = sg.Task(bits, sg.Program(lambda *z: sum(z) % 2 == 1, bits))
    learner = settled(truth, [True, False], 3)
    assert ways(learner) == ("plain", False, Constant(1.0))
    assert learner.grounding_["told"] == pytest.approx(math.log(2))


def test_what_was_given_is_kept() -> None:
    pair = addition(2)
    plain = settled(pair, [0, 3, 6], 2, sg.grounding_stages(pair, epochs=6, scaled=False))
    assert ways(plain) == ("plain", False, Constant(1.0))
    own = Exponential(1.0, 0.9)
    assert ways(settled(pair, [0, 3], 2, sg.grounding_stages(pair, schedule=own, epochs=6))) == ("scaled", True, own)
    written = [sg.Stage("I", SoftenedGrounding(), 6, adam)]
    assert settled(pair, [0, 3], 2, written).grounding_ is None
    assert not settled(pair, [0, 3], 2, written).stages[0].scaled
    with pytest.raises(LearnerError, match="scaled='yes'"):
        sg.Stage("I", SoftenedGrounding(), 6, adam, scaled="yes")  # type: ignore[arg-type]


class Reads(nn.Module):
    """Reads one-hot inputs by a map of symbols, almost surely; its scale is learnt."""

    def __init__(self, image: list[int], sure: float = 12.0) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(sure))
        self.register_buffer("image", torch.eye(len(image))[image])

    def forward(self, x: Tensor) -> Tensor:
        return self.scale * (x @ self.image)


def judged(image: list[int], sure: float = 12.0, **given: Any) -> sg.Learner:
    """How a run ends whose network does not change."""
    task = addition(2)
    still = [sg.Stage("I", SoftenedGrounding(), 1, lambda p: torch.optim.SGD(p, lr=0.0), scaled=True)]
    return sg.Learner(task, Reads(image, sure), still, device="cpu", **given).fit(examples(task, noise=0.0), quiet=True)


def test_the_scaled_loss_is_counted_and_the_signs_read() -> None:
    right = judged([0, 1, 2, 3])
    assert right.failures_ == ()
    merged = judged([0, 1, 1, 3], 3.0)
    assert [sign.kind for sign in merged.failures_] == ["unused", "unexplained"]
    assert "hardly ever reads 2," in merged.failures_[0].sentence
    learner, task = judged([0, 1, 2, 3], 2.0), addition(2)
    data = examples(task, noise=0.0)
    belief = (2 * data.x).log_softmax(-1).double()
    u = belief.exp().mean((0, 1))
    states = task.space.states(torch.arange(16))
    total = 0.0
    for row, y in enumerate(data.y):
        own = states[states.sum(1) == y]
        h = (belief[row].gather(1, own.T) - u[own.T].log()).sum(0)
        total += -max(float(h.logsumexp(0)), math.log(len(own)))
    assert learner.starts_[0].loss == pytest.approx(total / (2 * len(data.y)), abs=1e-5)
    nothing = judged([0, 1, 2, 3], 0.0)
    assert nothing.failures_[0].figures["rho"] == pytest.approx(1.0, abs=1e-3)


def test_a_noise_level_and_known_symbols_are_no_failure() -> None:
    task = addition(2)
    data = examples(task, 400, noise=0.0)
    wrong = [y if row % 5 and y < 5 else 0 for row, y in enumerate(data.y)]  # those of large digits above all
    still = [sg.Stage("I", SoftenedGrounding(), 1, lambda p: torch.optim.SGD(p, lr=0.0), scaled=True)]

    def fit(part: sg.Examples, **given: Any) -> sg.Learner:
        return sg.Learner(task, Reads([0, 1, 2, 3]), still, device="cpu", **given).fit(part, quiet=True)

    assert [sign.kind for sign in fit(sg.Examples(data.x, wrong)).failures_] == ["unexplained"]
    assert fit(sg.Examples(data.x, wrong), noise=0.2).failures_ == ()
    assert fit(sg.Examples(data.x, data.y, known=data.symbols)).failures_ == ()


def failing(task: sg.Task, seed: int = 0, **given: Any) -> sg.Learner:
    stages = sg.grounding_stages(task, epochs=6, optimizer=adam, zero_epochs=1)
    return sg.Learner(task, classifier(seed), stages, batch_size=32, device="cpu", restarts=2, **given)


@pytest.mark.parametrize("made", [False, True])
def test_further_starts_follow_and_resume_to_the_same_bits(
    made: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here every start counts as failed: there are three, and the best is left."""
    monkeypatch.setattr(restarts, "RHO", -math.inf)
    task = addition(2)
    data, test = examples(task, 96), examples(task, 32, seed=1)
    again = {"again": lambda start: classifier(10 * start)} if made else {}
    whole = failing(task, **again).fit(data, test, out=tmp_path / "whole", quiet=True)
    assert [start.way for start in whole.starts_] == ["annealed", "annealed longer", "scaled"]
    assert [name for name in whole.results_ if name.startswith("II")][-1] == restarts.best_of(whole.starts_).stage
    assert len(whole.history_) == 21
    assert restarts.best_of(whole.starts_).loss == min(start.loss for start in whole.starts_)
    assert whole.summary_["symbol_accuracy"] == list(whole.results_.values())[-1]["symbol_accuracy"]
    for place in (9, 37, 51, 70):
        folder = tmp_path / f"run {place}"
        with pytest.raises(Stop):
            failing(task, **again).fit(data, test, out=folder, quiet=True, observer=stop_at(place))
        resumed = failing(task, 0 if made else 5, **again).fit(data, test, out=folder, quiet=True, resume=True)
        assert_same_run(tmp_path / "whole", folder)
        assert equal(weights(whole.network), weights(resumed.network))
        assert resumed.starts_ == whole.starts_


def test_a_start_begins_with_the_weights_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(restarts, "RHO", -math.inf)
    task, seen = addition(2), []
    learner = failing(task)
    before = weights(learner.network)

    def watch(event: str, facts: dict[str, Any]) -> None:
        if event == "batch" and facts["epoch"] == facts["step"] == 0 and facts["stage"].split(",")[0] == "I":
            seen.append(weights(learner.network))

    begin = sg.learner.loop.Loop._begin_start

    def begun(self: Any, start: int) -> None:
        begin(self, start)
        assert equal(before, weights(self.network))

    monkeypatch.setattr("softground.learner.loop.Loop._begin_start", begun)
    learner.fit(examples(task, 96), quiet=True, observer=watch)
    assert len(seen) == 3


def test_short_runs_and_good_runs_do_not_begin_again() -> None:
    task = addition(2)
    good = failing(task).fit(examples(task, 192), quiet=True)
    assert len(good.starts_) == 1
    short = sg.grounding_stages(task, epochs=2, optimizer=adam)
    learner = sg.Learner(task, Reads([0, 1, 1, 3]), short, restarts=2, device="cpu")
    assert len(learner.fit(examples(task, 32), quiet=True).starts_) == 1


def test_an_older_run_goes_on_as_it_was(tmp_path: Path) -> None:
    """Its config names no way of grounding: plain, as everything was then."""
    task, folder = addition(2), tmp_path / "run"
    plain = [sg.Stage("I", SoftenedGrounding(), 4, adam)]
    data, whole = examples(task, 96), tmp_path / "whole"
    sg.Learner(task, classifier(), plain, device="cpu").fit(data, out=whole, quiet=True)
    with pytest.raises(Stop):
        sg.Learner(task, classifier(), plain, device="cpu").fit(data, out=folder, quiet=True, observer=stop_at(5))
    stages = sg.grounding_stages(task, epochs=4, optimizer=adam)
    learner = sg.Learner(task, classifier(), stages, device="cpu")
    learner.fit(data, out=folder, quiet=True, resume=True)
    assert learner.ways == ["plain"]
    assert_same_run(whole, folder)


def test_a_config_with_another_way_is_refused(tmp_path: Path) -> None:
    task, folder = addition(2), tmp_path / "run"
    with pytest.raises(Stop):
        failing(task).fit(examples(task, 96), out=folder, quiet=True, observer=stop_at(6))
    run = RunFolder.open(folder)
    run.write_config(run.read_config() | {"grounding": {"ways": ["sideways"]}})
    with pytest.raises(CheckpointError, match="sideways"):
        failing(task).fit(examples(task, 96), out=folder, quiet=True, resume=True)


def test_the_estimator_begins_again_where_it_makes_the_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(restarts, "RHO", -math.inf)
    data = examples(addition(2), 64)

    def starts(**given: Any) -> int:
        model = sg.SoftGrounder(lambda a, b: a + b, [range(4)] * 2, epochs=6, device="cpu", **given)
        return len(model.fit(data.x, data.y).learner_.starts_)

    assert starts() == 3
    assert starts(restarts=1) == 2
    assert starts(scaled=False) == 1
    assert starts(network=classifier()) == 1


def test_a_reading_that_explains_most_answers_is_told_from_wrong_answers() -> None:
    """A fifth of the answers are wrong, or every digit is read one too high, which explains most differences."""
    space = sg.Categorical([range(10)] * 2)
    rule = sg.Program(lambda a, b: a - b, space)
    task, digits = sg.Task(space, rule), torch.randint(10, (2000, 2), generator=torch.Generator().manual_seed(0))
    x, answers = torch.eye(10)[digits], [int(a - b) for a, b in digits.tolist()]
    wrong = [y if row % 5 else answers[row - 1] for row, y in enumerate(answers)]
    still = [sg.Stage("I", SoftenedGrounding(), 1, lambda p: torch.optim.SGD(p, lr=0.0), scaled=True)]

    def kinds(image: list[int], y: list[int]) -> list[str]:
        learner = sg.Learner(task, Reads(image), still, device="cpu").fit(sg.Examples(x, y), quiet=True)
        return [sign.kind for sign in learner.failures_]

    true, high = list(range(10)), [*range(1, 10), 9]
    assert kinds(true, wrong) == []
    assert kinds(high, answers) == ["unused", "unexplained"]
    assert kinds([*range(1, 10), 0], answers) == ["unexplained"]
