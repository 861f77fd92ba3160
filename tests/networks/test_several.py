"""Ensembles, whose members learn side by side."""

from __future__ import annotations

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
from softground.networks import Ensemble
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


def test_it_learns_and_resumes_with_the_same_bits(tmp_path: Path) -> None:
    task, make = addition(), ensemble
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


def test_on_the_command_line(tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert main([*ADDITION, "--members", "2", "--out", str(run)]) == 0
    assert read(run / "config.json")["recipe"]["members"] == 2
    assert main(["evaluate", str(run), "--device", "cpu", "--json"]) == 0
    assert main(["resume", str(run), "--previous", "--quiet"]) == 0


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("--members 0", "--members 0 was given"),
        ("--restarts -1", "--restarts -1 was given"),
        ("--scouts 2", "is gone"),
        ("--usage 0.5,0.6", "adds up to 1.1"),
        ("--usage often", "--usage often was given"),
        ("--usage estimated", "is gone. Give the shares"),
        ("--usage uniform --usage-weight -1", "--usage-weight -1.0 was given"),
    ],
)
def test_bad_options_are_refused(option: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*ADDITION, *option.split(), "--out", str(tmp_path / "run")]) != 0
    assert said in " ".join(capsys.readouterr().err.split())
