"""Networks whose members learn each for itself: ensembles and scouts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import softground as sg
from cli_cases import read
from learner_cases import Stop, adam, addition, assert_same_run, classifier, equal, examples, kernel, stop_at, weights
from softground.cli import main
from softground.errors import LearnerError
from softground.networks import Ensemble, Scouted
from softground.training import SemanticLoss

ADDITION = [
    "train",
    "addition",
    "--device",
    "cpu",
    "--train-size",
    "96",
    "--epochs",
    "2",
    "--quiet",
    "--network",
    "lenet",
]


def ensemble() -> Ensemble:
    return Ensemble([classifier(0), classifier(1)])


def learner(task: sg.Task, net: nn.Module, stages: list[sg.Stage] | None = None, **given: Any) -> sg.Learner:
    if stages is None:
        stages = sg.grounding_stages(task, epochs=6, optimizer=adam, terms=[sg.training.Usage()])
        first = sg.Stage("0", SemanticLoss(), 2, adam, terms=[sg.training.Usage()])
        stages = [first, *stages] if isinstance(net, Scouted) else stages
    return sg.Learner(task, net, stages, batch_size=32, device="cpu", **given)


def test_members_learn_as_they_would_alone() -> None:
    task = addition()
    data = examples(task, 96)

    def stage() -> list[sg.Stage]:
        return [sg.Stage("I", SemanticLoss(), 3, adam, terms=[sg.training.Usage()])]

    both = ensemble()
    learner(task, both, stage()).fit(data, anchors=sg.Anchors.of(data, task.space, 1, 0), quiet=True)
    for number, member in enumerate(both.members):
        alone = classifier(number)
        learner(task, alone, stage()).fit(data, anchors=sg.Anchors.of(data, task.space, 1, 0), quiet=True)
        for one, other in zip(alone.parameters(), member.parameters(), strict=True):
            assert torch.allclose(one, other, atol=1e-5)


def test_an_ensemble_reads_by_the_mean_of_its_members() -> None:
    task, net = addition(), ensemble()
    x = examples(task, 8).x
    read, *members = (sg.model.Model(each, task.space).predict_proba(x) for each in (net, *net.members))
    assert read == pytest.approx(sum(members) / 2, abs=1e-6)


@pytest.mark.parametrize("readings", ["grammatical", "all"])
def test_the_mean_is_taken_site_by_site(readings: Any) -> None:
    space = sg.Categorical([range(3), "+-"], readings=readings)
    output = torch.randn(4, 3, 2, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64).requires_grad_()
    belief, members = space.belief(output), [space.belief(each) for each in output.unbind(1)]
    mean = sum(member.marginals() for member in members) / 3
    assert isinstance(mean, Tensor)
    assert torch.allclose(belief.marginals(), mean, atol=1e-9)
    z = space.states(torch.arange(4))
    found, expected = belief.log_prob(z), mean.gather(2, z[..., None]).log().sum((1, 2))
    assert torch.allclose(found, expected, atol=1e-9)
    one, two = (torch.autograd.grad(part.sum(), output, retain_graph=True)[0] for part in (found, expected))
    assert torch.allclose(one, two, atol=1e-9)
    assert belief.other_mode().shape == (4, 2)
    assert space.belief(output[:0]).mode().shape == (0, 2)


def scouted(count: int = 3) -> Scouted:
    torch.manual_seed(0)
    return Scouted(classifier(0), count, inputs=4, outputs=4)


def test_a_network_begins_with_its_best_scouts_reading() -> None:
    net, x = scouted(), torch.rand(5, 3, 4)
    net.note(torch.tensor([2.0, 1.0, 3.0]))
    every = net.eval().linear(net.centred(x.flatten(0, 1)) * 1.5).view(5, 3, 3, 4)  # GAIN over the root of 4 inputs
    assert torch.allclose(net(x), every[:, :, 1], atol=1e-6)  # the network's last layer is 0
    net.scouting = True
    assert net(x).shape == (5, 3, 4)
    assert net.train()(x).shape == (5, 3, 3, 4)
    whole = (255 * x).round().to(torch.uint8)
    assert torch.allclose(net(whole), net(whole / 255), atol=1e-6)


def test_scouts_compete_in_the_first_stage_alone() -> None:
    task, net = addition(), scouted()
    stages = [sg.Stage(name, SemanticLoss(), 6, adam, terms=[sg.training.Usage()]) for name in ("0", "I")]
    before = weights(net.network)
    made, seen = learner(task, net, stages), []

    def watch(event: str, facts: dict[str, Any]) -> None:
        if event == "epoch":
            seen.append((equal(before, weights(net.network)), net.losses.tolist()))

    made.fit(examples(task), examples(task, 32, seed=1), quiet=True, observer=watch)
    assert [still for still, _ in seen] == [True] * 6 + [False] * 6
    assert seen[5][1] == seen[-1][1]
    assert len(set(seen[0][1])) == 3
    assert made.results_["I"]["symbol_accuracy"] > 0.9


def test_scouts_that_lost_learn_no_more() -> None:
    task, net = addition(), scouted()
    stages = [
        sg.Stage("0", SemanticLoss(), 4, lambda p: torch.optim.SGD(p, lr=0.1)),
        sg.Stage("I", SemanticLoss(), 1, adam),
    ]
    told: list[Tensor] = []

    def watch(event: str, facts: dict[str, Any]) -> None:
        if event == "epoch":
            told.append(net.linear.weight.detach().clone().view(3, 4, 4))

    learner(task, net, stages).fit(examples(task, 64), quiet=True, observer=watch)
    best, moved = int(net.losses.argmin()), (told[3] - told[2]).abs().amax((1, 2)) > 0
    assert moved.tolist() == [number == best for number in range(3)]  # the second half of Stage 0
    assert bool(((told[1] - told[0]).abs().amax((1, 2)) > 0).all())


def test_scouts_that_leave_symbols_out_are_held_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compared, the prior on usage counts more than it does in the loss."""
    noted: dict[float, list[Tensor]] = {0.0: [], 2.0: []}
    for strict, seen in noted.items():
        task, net = addition(), scouted()
        monkeypatch.setattr("softground.training.members.STRICT", strict)
        monkeypatch.setattr(net, "note", seen.append)
        stages = [sg.Stage(name, SemanticLoss(), 1, adam, terms=[sg.training.Usage(weight=0.0)]) for name in ("0", "I")]
        learner(task, net, stages).fit(examples(task), quiet=True)
    more = noted[2.0][0] - noted[0.0][0]
    assert more.shape == (3,)
    assert bool((more > 0).all())
    assert len(set(more.tolist())) == 3


@pytest.mark.parametrize("make", [ensemble, scouted])
def test_it_learns_and_resumes_with_the_same_bits(make: Callable[[], nn.Module], tmp_path: Path) -> None:
    task = addition()
    data, test = examples(task), examples(task, 32, seed=1)
    whole = learner(task, make()).fit(data, test, out=tmp_path / "whole", quiet=True)
    assert whole.results_["I"]["symbol_accuracy"] > 0.9
    with pytest.raises(Stop):
        learner(task, make()).fit(data, test, out=tmp_path / "run", quiet=True, observer=stop_at(7))
    again = learner(task, make())
    again.fit(data, test, out=tmp_path / "run", quiet=True, resume=True)
    assert_same_run(tmp_path / "whole", tmp_path / "run")
    assert equal(weights(whole.network), weights(again.network))
    loaded = sg.load(tmp_path / "run" / "model")
    assert loaded.predict(test.x) == whole.predict(test.x)
    assert loaded.predict(test.x, test.y) == whole.predict(test.x, test.y)


def test_what_members_would_share_is_refused() -> None:
    task = addition()
    stage = sg.Stage("I", sg.training.SoftenedGrounding(kernel("guided", task), sg.schedules.Constant(1.0)), 1, adam)
    with pytest.raises(LearnerError, match="SoftenedGrounding remembers one state of every example"):
        learner(task, ensemble(), [stage]).fit(examples(task, 32), quiet=True)
    with pytest.raises(LearnerError, match="cannot be an ensemble"):
        learner(task, Ensemble([ensemble(), ensemble()])).fit(examples(task, 32), quiet=True)
    with pytest.raises(LearnerError, match="0 members"):
        Ensemble([])
    with pytest.raises(LearnerError, match="reads by 'best'"):
        Ensemble([classifier()], "best")  # type: ignore[arg-type]


@pytest.mark.parametrize("option", [["--members", "2"], ["--scouts", "2", "--usage", "uniform"]])
def test_on_the_command_line(option: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("softground.experiments.problem.SCOUTING", 8)
    run = tmp_path / "run"
    assert main([*ADDITION, *option, "--out", str(run)]) == 0
    recipe = read(run / "config.json")["recipe"]
    assert recipe[option[0].removeprefix("--")] == 2
    assert main(["evaluate", str(run), "--device", "cpu", "--json"]) == 0
    assert main(["resume", str(run), "--previous", "--quiet"]) == 0


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("--members 0", "--members 0 was given"),
        ("--members 2 --scouts 2 --usage uniform", "expected one of them"),
        ("--scouts -1", "--scouts -1 was given"),
        ("--scouts 2", "without a usage prior"),
        ("--usage 0.5,0.6", "adds up to 1.1"),
        ("--usage often", "--usage often was given"),
        ("--usage estimated", "is gone. Give the shares"),
        ("--usage uniform --usage-weight -1", "usage weight -1.0 was given"),
    ],
)
def test_bad_options_are_refused(option: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*ADDITION, *option.split(), "--out", str(tmp_path / "run")]) != 0
    assert said in " ".join(capsys.readouterr().err.split())
