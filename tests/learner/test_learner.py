"""A network learns its symbols from answers alone, whatever the kernel; what a run records about it."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from learner_cases import adam, addition, chains_of, classifier, equal, examples, kernel, make_learner, untimed, weights
from softground import Examples, Learner, Stage, grounding_stages
from softground.learner.evaluation import predictions
from softground.runs import RunFolder
from softground.schedules import Constant, Exponential
from softground.training import Supervised, ZeroDegree


@pytest.mark.parametrize("tabulated", [True, False], ids=["table", "enumeration"])
@pytest.mark.parametrize("name", ["exact", "guided", "collapsed", "uniform", "metropolis"])
def test_every_kernel_learns_from_answers_alone(name: str, tabulated: bool) -> None:
    task = addition(tabulated=tabulated)
    schedule = Constant(1.0) if name == "exact" else Exponential(1.0, 0.9, 0.05)
    steps = 1 if name == "exact" else 4
    stages = grounding_stages(task, kernel(name, task), schedule, epochs=16, steps=steps, optimizer=adam)
    untold = Examples(examples(task).x, examples(task).y)
    learner = make_learner(task, stages).fit(untold, examples(task, 100, seed=1))
    assert learner.results_["I"]["symbol_accuracy"] > 0.95
    assert learner.results_["I"]["answer_accuracy"] > 0.9


def test_the_defaults_learn_too() -> None:
    task = addition()
    learner = Learner(task, classifier(), device="cpu").fit(examples(task, 2000))
    assert learner.evaluate(examples(task, 100, seed=1))["symbol_accuracy"] > 0.95
    assert learner.results_ == {}  # no test set was given


def test_stage_two_goes_on_from_stage_one_and_improves_a_half_trained_network() -> None:
    task = addition()
    train, test = examples(task, 512), examples(task, 200, seed=1)
    stages = grounding_stages(task, epochs=2, optimizer=adam, zero_epochs=12)
    learner = make_learner(task, stages).fit(train, test)
    assert [r["stage"] for r in learner.history_] == ["I"] * 2 + ["II"] * 12
    assert learner.results_["I"]["symbol_accuracy"] < learner.results_["II"]["symbol_accuracy"]
    assert learner.history_[-1]["gamma"] == 0.0
    assert 0 < learner.history_[-1]["used"] <= 1


def test_a_stage_has_batches_of_its_own() -> None:
    task, steps = addition(), dict[str, int]()
    first, second = grounding_stages(task, epochs=1, optimizer=adam, zero_epochs=1)
    stages = [first, dataclasses.replace(second, batch_size=10)]

    def count(event: str, facts: dict[str, Any]) -> None:
        if event == "batch":
            steps[facts["stage"]] = steps.get(facts["stage"], 0) + 1

    make_learner(task, stages, batch_size=32).fit(examples(task, 64), observer=count)
    assert steps == {"I": 2, "II": 7}


def test_stage_two_uses_exactly_the_examples_whose_prediction_is_feasible() -> None:
    task, net = addition(), classifier()
    data = examples(task, 64)
    before = weights(net)
    make_learner(task, grounding_stages(task, epochs=2, optimizer=adam), net).fit(data)
    trained = weights(net)
    learner = make_learner(task, [Stage("II", ZeroDegree(), 1, adam)], net, batch_size=64).fit(data)
    y = task.constraint.encode(data.y)
    scout = classifier()
    scout.load_state_dict(trained)
    share = task.feasible(task.space.belief(scout(data.x)).mode(), y).double().mean().item()
    assert learner.history_[0]["used"] == learner.history_[0]["feasible"] == share
    assert 0 < share < 1
    assert not equal(before, trained)


def test_stage_two_leaves_the_network_alone_when_nothing_is_feasible() -> None:
    task, net = addition(), nn.Linear(4, 4)
    nn.init.zeros_(net.weight)
    net.bias.data = torch.tensor([9.0, 0.0, 0.0, 0.0])  # always predicts 0 + 0 + 0
    before = weights(net)
    data = Examples(torch.randn(16, 3, 4), [9] * 16)
    learner = make_learner(task, [Stage("II", ZeroDegree(), 2, lambda p: torch.optim.SGD(p, 0.1))], net).fit(data)
    assert equal(before, weights(net))
    assert learner.history_[0]["used"] == 0.0


@pytest.mark.parametrize("stages", ["grounding", "metropolis", "zero"])
def test_true_symbols_are_never_looked_at(stages: str) -> None:
    """Right, wrong and no symbols give the same bits."""
    task = addition()
    data = examples(task)
    assert data.symbols is not None
    results = []
    for symbols in (None, data.symbols, (data.symbols + 1) % 4):
        plan = grounding_stages(
            task,
            kernel("metropolis" if stages == "metropolis" else "exact", task),
            epochs=2,
            optimizer=adam,
            zero_epochs=2 if stages == "zero" else 0,
        )
        net = classifier(dropout=0.1)
        learner = make_learner(task, plan, net).fit(Examples(data.x, data.y, symbols))
        results.append(weights(net) | learner.loop.parts[0].memory[0])
    assert equal(results[0], results[1])
    assert equal(results[0], results[2])


def test_supervision_is_the_yardstick_and_does_look_at_them() -> None:
    task = addition()
    learner = make_learner(task, [Stage("SUP", Supervised(), 12, adam)]).fit(examples(task))
    assert learner.evaluate(examples(task, 100, seed=1))["symbol_accuracy"] > 0.95


def test_a_record_holds_what_an_epoch_was() -> None:
    task = addition()
    stages = grounding_stages(
        task, kernel("collapsed", task), Exponential(2.0, 0.5), epochs=3, optimizer=adam, zero_epochs=1
    )
    history = make_learner(task, stages).fit(examples(task), examples(task, 50, seed=1)).history_
    shares = (
        "acceptance",
        "moved",
        "feasible",
        "unknown",
        "train_symbol_accuracy",
        "grounded_symbols",
        "test_answer_accuracy",
        "test_symbol_accuracy",
    )
    for epoch, record in enumerate(history[:3]):
        assert record["stage"] == "I"
        assert record["epoch"] == epoch
        assert record["gamma"] == 2.0 * 0.5**epoch
        assert record["loss"] > 0
        assert all(0 <= record[name] <= 1 for name in shares)
        assert set(record["seconds"]) == {"network", "sampling", "solver", "total"}
        assert all(value >= 0 for value in record["seconds"].values())
    assert history[3]["stage"] == "II"
    assert history[3]["epoch"] == 0


def test_a_temperature_of_infinity_is_written_as_none(tmp_path: Path) -> None:
    task = addition()
    stages = grounding_stages(task, schedule=Constant(1.0, warmup=1), epochs=2, optimizer=adam)
    learner = make_learner(task, stages).fit(examples(task, 32), out=tmp_path / "run")
    assert [r["gamma"] for r in learner.history_] == [None, 1.0]
    assert RunFolder.open(tmp_path / "run").read_metrics() == learner.history_


def test_the_test_set_is_evaluated_as_often_as_asked_and_always_at_the_end() -> None:
    task = addition()
    stages = grounding_stages(task, epochs=5, optimizer=adam, zero_epochs=1)
    learner = make_learner(task, stages, evaluate_every=2).fit(examples(task, 32), examples(task, 16, seed=1))
    assert ["test_symbol_accuracy" in r for r in learner.history_] == [False, True, False, True, True, True]
    assert list(learner.results_) == ["I", "II"]


def test_keeping_the_best_network_keeps_that_of_the_most_feasible_epoch() -> None:
    task = addition()
    train, test = examples(task), examples(task, 50, seed=1)

    def rising(progress: float) -> float:  # good at first, then far too much
        return 1.0 if progress < 0.5 else 1e4

    def run(keep: Any, epochs: int) -> tuple[Learner, nn.Module]:
        net = classifier()
        objective = grounding_stages(task, optimizer=adam)[0].objective
        # The rate depends on progress alone, so the shorter run repeats the longer one's first epochs.
        stage = Stage("I", objective, epochs, adam, lambda p: rising(p * epochs / 8), keep)
        return make_learner(task, [stage], net).fit(train, test), net

    learner, net = run("best", 8)
    shares = [r["feasible"] for r in learner.history_]
    best = shares.index(max(shares))
    assert best < 7
    _, shorter = run("last", best + 1)
    assert equal(weights(net), weights(shorter))
    _, last = run("last", 8)
    assert not equal(weights(net), weights(last))
    assert learner.results_["I"] == learner.evaluate(test)


def test_one_seed_decides_everything_and_another_seed_changes_it() -> None:
    task = addition()

    def run(seed: int) -> tuple[dict[str, torch.Tensor], list[dict[str, Any]]]:
        net = classifier(dropout=0.2)
        torch.manual_seed(torch.seed() % 1000)  # whatever went on before must not matter
        stages = grounding_stages(task, kernel("guided", task), epochs=2, optimizer=adam)
        learner = make_learner(task, stages, net, seed=seed, augment=jitter).fit(examples(task), examples(task, 32, 1))
        return weights(net) | {"chains": chains_of(learner)}, untimed(learner.history_)

    first, again, other = run(3), run(3), run(4)
    assert equal(first[0], again[0])
    assert first[1] == again[1]
    assert not equal(first[0], other[0])
    assert not torch.equal(first[0]["chains"], other[0]["chains"])


def jitter(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """An augmentation."""
    return x + 0.05 * torch.randn(x.shape, generator=generator)


def test_predictions_are_those_of_the_trained_network() -> None:
    task, net = addition(), classifier()
    learner = make_learner(task, None, net).fit(examples(task, 64))
    data = examples(task, 300, seed=1)
    by_hand = task.space.belief(net.eval()(data.x)).mode()
    assert torch.equal(learner.predict_codes(data.x), by_hand)
    assert torch.equal(predictions(task.space, net, learner._parts(data)[0].data), by_hand)
