"""Gradient steps: accumulation equals one larger batch, clipping bounds them; precision, and a Fabric of one's own."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
import torch
from lightning_fabric import Fabric
from lightning_fabric.strategies import FSDPStrategy
from torch import Tensor, nn
from torch.optim import SGD

from learner_cases import addition, assert_same_run, classifier, equal, examples, kernel, make_learner, weights
from softground import Learner, Stage
from softground.errors import CheckpointError, LearnerError
from softground.experiments import Experiment
from softground.learner import one_cycle
from softground.schedules import Exponential
from softground.training import Batch, SemanticLoss, SoftenedGrounding, Term

COUNT = 100  # at 16 a batch: six batches and one of 4, which is a group of its own when three make one


class Seen(nn.Module):
    """A classifier that counts the batches it saw in training."""

    def __init__(self) -> None:
        super().__init__()
        self.inner, self.batches = classifier(), 0

    def forward(self, x: Tensor) -> Tensor:
        self.batches += self.training
        out: Tensor = self.inner(x)
        return out


class Counting(SGD):
    """SGD that keeps the norm of every gradient it was given."""

    def __init__(self, parameters: Any, norms: list[float]) -> None:
        super().__init__(parameters, lr=0.5)
        self.norms = norms

    def step(self, closure: Any = None) -> Any:
        every = [p.grad.flatten() for group in self.param_groups for p in group["params"]]
        self.norms.append(float(torch.cat(every).norm()))
        return super().step(closure)


def fit(norms: list[float] | None = None, epochs: int = 2, **given: Any) -> Learner:
    """Exact training, without any draw but the order of the examples."""
    task = addition()
    seen: list[float] = [] if norms is None else norms
    stage = Stage("I", SemanticLoss(), epochs, lambda p: Counting(p, seen), one_cycle())
    return make_learner(task, [stage], Seen(), **given).fit(examples(task, COUNT))


def close(one: Learner, other: Learner) -> bool:
    a, b = weights(one.network), weights(other.network)
    return all(torch.allclose(a[name], b[name], atol=1e-5) for name in a)


@pytest.mark.parametrize("every", [2, 3, 7, 50])
def test_accumulated_batches_are_one_larger_batch(every: int) -> None:
    norms: list[float] = []
    small = fit(norms, batch_size=16, accumulate=every)
    large = fit(batch_size=16 * every)
    assert close(small, large)
    assert not close(small, fit(batch_size=16))
    assert small.network.batches == 2 * 7
    assert len(norms) == large.network.batches


def test_processes_average_their_gradients_with_the_last_batch_of_a_group(monkeypatch: pytest.MonkeyPatch) -> None:
    apart = list[bool]()

    def no_backward_sync(self: Fabric, module: nn.Module, enabled: bool = True) -> Any:
        apart.append(enabled)
        return nullcontext()

    monkeypatch.setattr(Fabric, "no_backward_sync", no_backward_sync)
    fit(epochs=1, batch_size=16, accumulate=3)
    passes = [batch for batch in ([True, True, False] * 2 + [False]) for _ in range(len(apart) // 7)]
    assert apart == passes


def test_chains_walk_with_every_batch() -> None:
    task, walked = addition(), 0

    class Walk(SoftenedGrounding):
        def teach(self, batch: Batch) -> Tensor:
            nonlocal walked
            walked += len(batch.index)
            return super().teach(batch)

    stage = Stage("I", Walk(kernel("guided", task), Exponential(1.0)), 1, lambda p: SGD(p, lr=0.1))
    make_learner(task, [stage], batch_size=16, accumulate=3).fit(examples(task, COUNT))
    assert walked == COUNT


def test_gradients_are_clipped_to_the_norm_given() -> None:
    free, bound, loose = list[float](), list[float](), list[float]()
    plain = fit(free)
    fit(bound, clip=0.01)
    assert min(free) > 0.01
    assert bound == pytest.approx([0.01] * len(free), rel=1e-3)
    assert equal(weights(fit(loose, clip=1e6).network), weights(plain.network))


def test_clipping_is_of_the_whole_step_not_of_each_batch() -> None:
    norms: list[float] = []
    fit(norms, batch_size=16, accumulate=3, clip=0.01)
    assert norms == pytest.approx([0.01] * 6, rel=1e-3)


def run(folder: Path | None, resume: bool = False, stop: int = 0, **given: Any) -> Learner:
    task = addition()
    stage = Stage("I", SoftenedGrounding(kernel("guided", task), Exponential(1.0)), 3, lambda p: SGD(p, lr=0.1))

    def interrupt(event: str, facts: dict[str, Any]) -> None:
        if event == "batch" and (facts["epoch"], facts["step"]) == (stop, 1):  # in the middle of a group
            raise KeyboardInterrupt

    settings: dict[str, Any] = {"batch_size": 16, "accumulate": 3, "clip": 0.1, "precision": "bf16-mixed"} | given
    learner = make_learner(task, [stage], classifier(dropout=0.2), **settings)
    return learner.fit(examples(task, COUNT), out=folder, resume=resume, observer=interrupt if stop else None)


@pytest.mark.parametrize("stop", [1, 2])
def test_a_resumed_run_has_the_same_bits(tmp_path: Path, stop: int) -> None:
    run(tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "part", stop=stop)
    run(tmp_path / "part", resume=True)
    assert_same_run(tmp_path / "whole", tmp_path / "part")


@pytest.mark.parametrize(("name", "other"), [("clip", 0.0), ("accumulate", 2), ("precision", "32-true")])
def test_a_run_is_resumed_with_its_own_settings_only(tmp_path: Path, name: str, other: Any) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "run", stop=1)
    with pytest.raises(CheckpointError, match=f"{name} was"):
        run(tmp_path / "run", resume=True, **{name: other})


def test_mixed_precision_multiplies_in_bf16_and_keeps_weights_and_beliefs_in_32_bits() -> None:
    inside, beliefs = set[torch.dtype](), set[torch.dtype]()

    class Look(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            if self.training:
                inside.add(x.dtype)
            return x

    class Asks(Term):
        def loss(self, batch: Batch) -> None:
            beliefs.add(batch.belief.log_prob(batch.belief.mode()).dtype)

    task = addition()
    for precision in ("bf16-mixed", "32-true"):
        network = nn.Sequential(*classifier(), Look())
        stage = Stage("I", SemanticLoss(), 2, lambda p: SGD(p, lr=0.5), terms=[Asks()])
        learner = make_learner(task, [stage], network, precision=precision)
        learner.fit(examples(task, COUNT))
        assert {p.dtype for p in network.parameters()} == {torch.float32}
        assert inside.pop() == (torch.bfloat16 if precision == "bf16-mixed" else torch.float32)
    assert beliefs == {torch.float32}


def test_a_fabric_of_ones_own_is_used() -> None:
    given = Fabric(accelerator="cpu", devices=1, precision="bf16-mixed")
    own = run(None, fabric=given, device="auto", precision="32-true")
    assert own.fabric is given
    assert own.precision == "bf16-mixed"
    assert equal(weights(own.network), weights(run(None).network))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"clip": -1}, "clip=-1 was given; expected the largest norm of a gradient"),
        ({"clip": float("nan")}, "clip=nan was given"),
        ({"clip": "1"}, "clip='1' was given"),
        ({"accumulate": 0}, "accumulate=0 was given; expected a whole number, at least 1"),
        ({"precision": "16-mixed"}, "precision='16-mixed' was given; expected one of 32-true, bf16-mixed"),
        ({"fabric": Fabric(accelerator="cpu", devices=1)}, "device='cpu' and .* and a Fabric"),
        ({"fabric": Fabric(accelerator="cpu", devices=2), "device": "auto"}, "launch.* first"),
    ],
)
def test_bad_settings_are_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(LearnerError, match=said):
        make_learner(addition(), **given)


def test_a_fabric_that_cannot_train_here_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    fabric = Fabric(accelerator="cpu", devices=1)
    monkeypatch.setattr(fabric, "_strategy", FSDPStrategy())
    with pytest.raises(
        LearnerError, match="strategy FSDPStrategy was given; expected a Fabric on one device or with DDP"
    ):
        make_learner(addition(), fabric=fabric, device="auto")
    with pytest.raises(LearnerError, match="A str with the strategy NoneType was given"):
        make_learner(addition(), fabric="cpu", device="auto")
    fabric = Fabric(accelerator="cpu", devices=1)
    monkeypatch.setattr(fabric.strategy.precision, "precision", "16-mixed")
    with pytest.raises(LearnerError, match="16-mixed, which expects gradients"):
        make_learner(addition(), fabric=fabric, device="auto")


def test_a_recipe_has_them() -> None:
    experiment = Experiment.named("addition", epochs=1, train_size=200, clip=0.5, accumulate=4, precision="bf16-mixed")
    learner = experiment.learner()
    assert (learner.settings.clip, learner.settings.accumulate, learner.precision) == (0.5, 4, "bf16-mixed")
    assert experiment.recipe is not None
    assert experiment.recipe.to_json()["accumulate"] == 4
