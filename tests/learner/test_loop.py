"""An epoch by hand: what an objective is given, what the optimiser does with it, and every number that is recorded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from learner_cases import addition, classifier, equal, examples, make_learner, untimed, weights
from softground import Learner, Stage
from softground.errors import NonFiniteOutput
from softground.learner import loop, tally
from softground.learner.tally import Stopwatch
from softground.learner.trained_part import deal_batches
from softground.training import Batch, Moment, SemanticLoss, Teacher, Term

COUNT, SIZE = 50, 16


class Notes(Teacher):
    """Supervision that notes all it is given; it grounds the true digits of the even examples."""

    def __init__(self, digits: Tensor) -> None:
        self.batches: list[Batch] = []
        self.digits = digits

    def teach(self, batch: Batch) -> Tensor:
        assert batch.symbols is not None
        self.batches.append(batch)
        batch.figures["odd"] = batch.index % 2 == 1
        batch.note_grounded(torch.where(batch.index[:, None] % 2 == 0, batch.symbols, -1))
        return batch.symbols

    def numbers(self, moment: Moment) -> dict[str, float]:
        return {"squared": float(moment.epoch**2)}


def run(epochs: int = 2, stage: dict[str, Any] | None = None, **settings: Any) -> tuple[Learner, Notes, list[Any]]:
    task, seen = addition(), []
    data = examples(task, COUNT)
    assert data.symbols is not None
    notes = Notes(data.symbols)
    one = Stage("only", notes, epochs, lambda p: torch.optim.SGD(p, lr=0.5), **(stage or {}))
    learner = make_learner(task, [one], batch_size=SIZE, **settings)
    learner.fit(data, observer=lambda event, facts: seen.append((event, facts)))
    return learner, notes, seen


def test_a_batch_holds_the_rows_of_its_examples() -> None:
    learner, notes, _ = run()
    data, y = examples(addition(), COUNT), learner.task.constraint.encode(examples(addition(), COUNT).y)
    assert data.symbols is not None
    assert [len(batch.index) for batch in notes.batches] == [16, 16, 16, 2] * 2
    assert [batch.moment.epoch for batch in notes.batches] == [0] * 4 + [1] * 4
    for epoch in (notes.batches[:4], notes.batches[4:]):
        assert sorted(torch.cat([batch.index for batch in epoch]).tolist()) == list(range(COUNT))
    assert not torch.equal(notes.batches[0].index, notes.batches[4].index)
    for batch in notes.batches:
        assert torch.equal(batch.y, y[batch.index])
        assert batch.symbols is not None
        assert torch.equal(batch.symbols, data.symbols[batch.index])
    assert len({id(batch.dice) for batch in notes.batches}) == 1


def test_the_network_follows_the_loss_by_the_optimisers_own_steps() -> None:
    """Plain gradient descent on the batches that were given, by hand: bit for bit the weights of the run."""
    learner, notes, _ = run()
    data, net, space = examples(addition(), COUNT), classifier(), learner.task.space
    assert data.symbols is not None
    optimizer = torch.optim.SGD(net.parameters(), lr=0.5)
    for batch in notes.batches:
        optimizer.zero_grad()
        each = space.belief(net(data.x[batch.index])).site_scores(data.symbols[batch.index])
        loss = each.sum() / len(batch.index) / -space.sites
        assert torch.equal(loss, batch.figures["loss"][0])
        loss.backward()
        optimizer.step()
    assert all(torch.equal(value, weights(learner.network)[name]) for name, value in net.state_dict().items())
    assert not learner.network.training


@pytest.mark.parametrize("together", [1, 3, tally.TOGETHER])
def test_a_record_is_the_mean_over_all_examples(together: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tally, "TOGETHER", together)
    learner, notes, seen = run()
    for epoch, record in enumerate(learner.history_):
        batches = notes.batches[4 * epoch : 4 * epoch + 4]
        sizes = [len(batch.index) for batch in batches]
        losses = [-batch.reading.log_prob(batch.symbols).mean() / 3 for batch in batches]
        loss = sum(float(each) * n for each, n in zip(losses, sizes, strict=True)) / COUNT
        modes = [batch.belief.mode() for batch in batches]
        right = [learner.task.feasible(z, batch.y) for z, batch in zip(modes, batches, strict=True)]
        digits = [(z == batch.symbols).double().mean(1) for z, batch in zip(modes, batches, strict=True)]
        assert record["loss"] == pytest.approx(loss)
        assert record["feasible"] == pytest.approx(float(torch.cat(right).double().mean()))
        assert record["train_symbol_accuracy"] == pytest.approx(float(torch.cat(digits).mean()))
        assert (record["odd"], record["grounded_symbols"]) == (0.5, 0.5)
        assert (record["stage"], record["epoch"], record["squared"]) == ("only", epoch, epoch**2)
        assert set(record["seconds"]) == {"network", "sampling", "solver", "total"}
        assert record["seconds"]["network"] > 0
        assert record["seconds"]["total"] >= record["seconds"]["network"]
        assert record["seconds"]["solver"] == 0.0 < record["seconds"]["sampling"]
    assert [event for event, _ in seen] == ["begin", *(["batch"] * 4 + ["epoch"]) * 2, "stage", "end"]
    begin, stage = seen[0][1], seen[-2][1]
    assert (begin["stages"], begin["examples"], begin["epochs"]) == (learner.stages, COUNT, 0)
    assert stage == {"stage": "only", "result": {}}
    steps = [facts for event, facts in seen if event == "batch"]
    assert steps == [{"stage": "only", "epoch": e, "step": s, "steps": 4} for e in range(2) for s in range(4)]
    assert [facts for event, facts in seen if event == "epoch"] == learner.history_


def test_a_batch_that_only_keeps_step_counts_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process without an example of a batch reads its first one, which neither teaches nor shows."""
    plain, _, _ = run()

    def more(parts: Any, size: int, order: torch.Generator, shuffle: bool) -> Any:
        idle = parts[0], torch.zeros(1, dtype=torch.long), True, 1
        return [portion for each in deal_batches(parts, size, order, shuffle) for portion in (each, idle)]

    monkeypatch.setattr(loop, "deal_batches", more)
    idle, notes, _ = run()
    assert [len(batch.index) for batch in notes.batches] == [16, 1, 16, 1, 16, 1, 2, 1] * 2
    assert untimed(idle.history_) == untimed(plain.history_)
    assert equal(weights(idle.network), weights(plain.network))


@pytest.mark.parametrize("world", [1, 2, 3])
def test_processes_share_out_the_batches_of_one(world: int) -> None:
    """Process k has the examples k, k + n, … of the data set, as rows 0, 1, …, and takes its own of every batch."""

    def dealt(rank: int, world: int) -> list[Any]:
        trained = SimpleNamespace(trained=lambda: torch.arange(23))
        part: Any = SimpleNamespace(fabric=SimpleNamespace(global_rank=rank, world_size=world), unexplained=trained)
        return deal_batches([part], 4, torch.Generator().manual_seed(0))

    every = [dealt(rank, world) for rank in range(world)]
    for whole, *shares in zip(dealt(0, 1), *every, strict=True):
        kept = [rows * world + rank for rank, (_, rows, idle, _) in enumerate(shares) if not idle]
        assert sorted(torch.cat(kept).tolist()) == sorted(whole[1].tolist())
        assert all(rows.tolist() == [0] for _, rows, idle, _ in shares if idle)
        assert [count for *_, count in shares] == [len(whole[1])] * world


@pytest.mark.parametrize("size", [None, 25])
def test_the_learning_rate_knows_how_far_the_stage_has_come(size: int | None) -> None:
    asked: list[float] = []

    def rate(progress: float) -> float:
        asked.append(progress)
        return 0.0

    learner, notes, _ = run(3, {"learning_rate": rate, "batch_size": size})
    steps = 4 if size is None else 2
    assert asked == pytest.approx([step / (3 * steps) for step in range(3 * steps)])
    assert [len(batch.index) for batch in notes.batches][:2] == ([16, 16] if size is None else [25, 25])
    fresh = classifier().state_dict()
    assert all(torch.equal(value, fresh[name]) for name, value in weights(learner.network).items())  # a rate of 0


def test_inputs_are_distorted_where_that_is_asked_for() -> None:
    given: list[tuple[Any, Any]] = []

    def augment(x: Tensor, generator: torch.Generator) -> Tensor:
        given.append((x, generator))
        return torch.zeros_like(x)

    learner, notes, _ = run(1, augment=augment)
    data = examples(addition(), COUNT)
    assert len({id(generator) for _, generator in given}) == 1
    for (x, _), batch in zip(given, notes.batches, strict=True):
        assert torch.equal(x, data.x[batch.index])
        assert len(torch.unique(batch.belief.scores.flatten(0, 1), dim=0)) == 1  # type: ignore[attr-defined]
    assert learner.history_[0]["loss"] > 0


def test_an_epoch_is_evaluated_when_its_turn_comes_and_at_the_end() -> None:
    task = addition()
    data, test = examples(task, COUNT), examples(task, 20, seed=1)
    notes = Notes(data.symbols)  # type: ignore[arg-type]
    stage = Stage("only", notes, 5, lambda p: torch.optim.SGD(p, lr=0.5))
    learner = make_learner(task, [stage], batch_size=SIZE, evaluate_every=2).fit(data, test)
    evaluated = ["test_symbol_accuracy" in record for record in learner.history_]
    assert evaluated == [False, True, False, True, True]
    last = {
        name.removeprefix("test_"): value for name, value in learner.history_[-1].items() if name.startswith("test_")
    }
    assert learner.results_["only"].items() >= last.items()
    assert last["symbol_accuracy"] == learner.evaluate(test)["symbol_accuracy"]


@pytest.mark.parametrize("answer", [True, np.float64(2) > 1, 1, "yes", None])
def test_only_true_ends_a_run(answer: Any) -> None:
    task = addition()
    data = examples(task, COUNT)

    def stages(make: Callable[[], Teacher]) -> list[Stage]:
        return [Stage(name, make(), 3, lambda p: torch.optim.SGD(p, lr=0.1)) for name in ("one", "two")]

    learner = make_learner(task, stages(lambda: Notes(data.symbols)))  # type: ignore[arg-type]
    learner.fit(data, observer=lambda event, facts: answer if event == "epoch" and facts["epoch"] == 1 else None)
    done = [(record["stage"], record["epoch"]) for record in learner.history_]
    whole = [(name, epoch) for name in ("one", "two") for epoch in range(3)]
    assert done == (whole[:2] if isinstance(answer, bool | np.bool_) else whole)


def test_examples_without_symbols_have_no_accuracy() -> None:
    task = addition()
    data = replace(examples(task, COUNT), symbols=None)

    class Blind(Teacher):
        def teach(self, batch: Batch) -> Tensor:
            assert batch.symbols is None
            z: Tensor = batch.reading.mode()
            batch.note_grounded(z)
            return z

    learner = make_learner(task, [Stage("only", Blind(), 1, lambda p: torch.optim.SGD(p, lr=0.1))]).fit(data)
    assert not {"train_symbol_accuracy", "grounded_symbols"} & set(learner.history_[0])


class Breaks(torch.optim.SGD):
    """Steps to infinity, the n-th time."""

    def __init__(self, parameters: Any, when: int) -> None:
        super().__init__(parameters, lr=0.0)
        self.left = when

    def step(self, closure: Any = None) -> None:
        self.left -= 1
        if not self.left:
            self.param_groups[0]["params"][0].data[0, 0] = torch.inf


@pytest.mark.parametrize(
    ("when", "place"),
    [(1, "epoch 1 of 2, batch 2 of 4"), (3, "epoch 1 of 2, batch 4 of 4"), (4, "epoch 1 of 2, after its last batch")],
)
def test_what_is_not_finite_is_named_by_its_place_and_never_saved(when: int, place: str, tmp_path: Path) -> None:
    task = addition()
    data = examples(task, COUNT)
    stage = Stage("only", Notes(data.symbols), 2, lambda p: Breaks(p, when))  # type: ignore[arg-type]
    learner = make_learner(task, [stage], batch_size=SIZE)
    with pytest.raises(NonFiniteOutput, match=rf"Stage only, {place}: .*checkpoint is in {tmp_path}/run\.$"):
        learner.fit(data, out=tmp_path / "run")
    again = Stage("only", Notes(data.symbols), 2, lambda p: Breaks(p, 4 + when))  # type: ignore[arg-type]
    late = place.replace("epoch 1", "epoch 2")
    with pytest.raises(
        NonFiniteOutput, match=rf"Stage only, {late}: .*{tmp_path}/two; if that is too late.*previous=True\.$"
    ):
        make_learner(task, [again], batch_size=SIZE).fit(data, out=tmp_path / "two")
    assert not learner.network.training


def test_a_run_without_a_folder_names_no_checkpoint() -> None:
    task = addition()
    data = examples(task, COUNT)
    stage = Stage("only", Notes(data.symbols), 1, lambda p: Breaks(p, 4))  # type: ignore[arg-type]
    with pytest.raises(NonFiniteOutput) as caught:
        make_learner(task, [stage], batch_size=SIZE).fit(data)
    assert "checkpoint" not in str(caught.value)
    assert "holds NaN or infinity" in str(caught.value)


def test_the_networks_time_is_forward_and_backward(monkeypatch: pytest.MonkeyPatch) -> None:
    parts: list[str] = []

    class Watch(Stopwatch):
        def lap(self, part: str) -> None:
            parts.append(part)
            super().lap(part)

    monkeypatch.setattr("softground.learner.loop.Stopwatch", Watch)
    run(1)
    assert parts == ["network", "sampling", "network"] * 4


class Shares(Term):
    """A term that notes how far the stage is said to be, and asks for nothing."""

    def __init__(self) -> None:
        self.seen: list[float] = []

    def loss(self, batch: Batch) -> None:
        self.seen.append(batch.moment.share)


def test_terms_stand_still_while_the_schedule_waits() -> None:
    task, term = addition(), Shares()
    still = Stage("I", SemanticLoss(), 5, lambda p: torch.optim.SGD(p, lr=0.0), terms=[term], wait=2)
    learner = make_learner(task, [still], batch_size=COUNT)
    learner.fit(examples(task, COUNT))
    assert [record["waited"] for record in learner.history_] == [0, 0, 1, 2, 2, 2, 2]  # nothing is learnt
    assert term.seen == pytest.approx([0, 0.2, 0.2, 0.2, 0.4, 0.6, 0.8])
