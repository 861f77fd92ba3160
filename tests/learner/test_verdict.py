"""The verdict on a run, from planted figures and from runs whose end is known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

import softground as sg
from softground.learner.verdict import Figures, verdict_of

RUN: dict[str, Any] = {"explained": 1.0, "chance": 0.05, "sites": 2, "symbols": 10, "unexplained": False}
TRUE = {"held_out": 0.95, "accuracy": 0.97, "relabelled": 0.97}
ALONE = {"one_to_one": 1, "finished": True, "disagree": []}
SWAP = {"one_to_one": 2, "finished": True, "disagree": ["early", "late"]}
WRONG = {"accuracy": 0.1, "relabelled": 0.3}

PLANTED: dict[str, list[dict[str, Any]]] = {
    "learnt": [
        TRUE,
        TRUE | {"names": SWAP},  # labels of held-out symbols say that the names are right
        {"names": ALONE},
        {"held_out": 0.9, "names": ALONE},
        {"held_out": 0.36, "sites": 20, "chance": 0.0, "names": ALONE},  # of long sums few are right
        {"explained": 0.3, "sites": 60, "chance": 0.0, "names": ALONE},
        {"labelled": True, "names": None},
        {"symbols": 0},  # reals have no names
        TRUE | {"noise": 0.5},
    ],
    "learnt_up_to_renaming": [
        {"names": SWAP},
        {"held_out": 0.95, "accuracy": 0.0, "relabelled": 0.98, "names": SWAP},
        {"held_out": 0.95, "accuracy": 0.5, "relabelled": 0.7, "names": SWAP},
        {"names": SWAP | {"finished": False}},
    ],
    "partly": [
        {"names": ALONE | {"finished": False}},  # not settled in the time that there is
        {"names": None},
        {"held_out": 0.95, "accuracy": 0.0, "relabelled": 0.98, "names": ALONE},
        {"held_out": 0.4, "accuracy": 0.7, "relabelled": 0.7, "confused": (("3", "8", 0.9),)},
        TRUE | {"confused": (("3", "8", 0.6),)},
        {"explained": 0.7, "unexplained": True},
        {"held_out": 0.5, "names": ALONE},
    ],
    "not_learnt": [
        {"explained": 0.06, "unexplained": True},
        *({"explained": share, "unexplained": True, "sites": 10} for share in (0.05, 0.2, 0.45)),  # stalled, one off
        {"explained": 0.45, "unexplained": None, "sites": 10},
        {"explained": 0.3, "held_out": 0.3, "unexplained": True, "sites": 10} | WRONG,
        {"explained": 0.4, "noise": 0.5, "unexplained": None},
        {"explained": 0.07, "held_out": 0.07, "unexplained": True} | WRONG,
    ],
    "collapsed": [
        {"unused": ("early", "late")},  # though all answers are explained
        {"unused": ("early", "late"), "names": ALONE},
        {"explained": 0.02, "unused": tuple("013456789"), "unexplained": True},
        {"explained": 0.02, "held_out": 0.02, "unused": tuple("013456789"), "unexplained": True} | WRONG,
        {"held_out": 0.9, "accuracy": 0.9, "relabelled": 0.9, "unused": ("7",)},
    ],
    "memorised": [
        {"held_out": 0.06, "names": ALONE},
        {"held_out": 0.2, "accuracy": 0.15, "relabelled": 0.2, "unused": ("4",)},
    ],
    "stopped": [TRUE | {"stopped": (3, 20)}, {"explained": 0.1, "stopped": (1, 2)}],
    "unknown": [{"explained": None}],
}


@pytest.mark.parametrize(("kind", "figures"), [(kind, one) for kind, each in PLANTED.items() for one in each])
def test_planted_figures_have_their_kind(kind: str, figures: dict[str, Any]) -> None:
    verdict = verdict_of(Figures(**(RUN | figures)))
    assert verdict.kind == kind, verdict
    assert verdict.sentence.endswith(".")
    assert len(verdict.sentence) < 200
    if "held_out" not in figures:
        assert verdict.kind != "memorised"
        assert verdict.sentence.endswith("checked on training answers only.")
        assert verdict.checked_on == "training answers only"


def test_sentences_name_symbols() -> None:
    def sentence(**figures: Any) -> str:
        return verdict_of(Figures(**(RUN | figures))).sentence

    assert sentence(unused=("early", "late")).startswith("Collapsed: early, late are never read, though 100.0%")
    assert "cannot tell early, late apart" in sentence(names=SWAP)
    assert "3 is read as 8 (90%)" in sentence(held_out=0.4, accuracy=0.7, confused=(("3", "8", 0.9),))


def addition(rule: Any = lambda a, b: a + b) -> sg.Task:
    space = sg.Categorical([range(10)] * 2)
    return sg.Task(space, sg.Program(rule, space))


def fit(task: sg.Task, count: int, epochs: int, test: int = 0, symbols: bool = True, **given: Any) -> sg.Learner:
    """A run on noisy pictures of digits."""

    def drawn(size: int, seed: int) -> sg.Examples:
        chance = torch.Generator().manual_seed(seed)
        z = torch.randint(10, (size, 2), generator=chance)
        x = torch.eye(10)[z] + 0.1 * torch.randn(size, 2, 10, generator=chance)
        return sg.Examples(x, task.constraint.compute(z), z if symbols else None)

    with sg.seeded(0):
        network = sg.mlp(10, 10, dropout=0.0)
    learner = sg.Learner(task, network, sg.grounding_stages(task, epochs=epochs), device="cpu")
    return learner.fit(drawn(count, 0), drawn(test, 1) if test else None, quiet=True, **given)


def test_a_run_without_a_folder_has_a_verdict() -> None:
    assert fit(addition(), 400, 20, symbols=False).verdict_.kind == "learnt"
    early = fit(addition(), 400, 1).verdict_
    assert early.kind in ("not_learnt", "collapsed")
    assert early.checked_on == "training answers only"


def test_what_the_answers_cannot_tell_apart_is_named() -> None:
    verdict = fit(addition(lambda a, b: a % 5 + b % 5), 400, 20, symbols=False).verdict_
    assert verdict.kind == "learnt_up_to_renaming"


def test_a_run_that_is_ended_early_is_stopped(tmp_path: Path) -> None:
    learner = fit(addition(), 100, 20, observer=lambda event, facts: event == "epoch", out=tmp_path / "run")
    assert learner.verdict_.kind == "stopped"
    assert learner.verdict_.sentence.startswith("Stopped after 1 of 20 epochs: ")

    def interrupt(event: str, facts: dict[str, Any]) -> None:
        if event == "epoch":
            raise KeyboardInterrupt

    task = addition()
    learner = sg.Learner(task, sg.mlp(10, 10), sg.grounding_stages(task, epochs=3), device="cpu")
    z = torch.randint(10, (20, 2))
    with pytest.raises(KeyboardInterrupt):
        learner.fit(sg.Examples(torch.eye(10)[z], z.sum(1).tolist()), observer=interrupt, quiet=True)
    assert learner.verdict_.kind == "stopped"


def test_one_gradient_step_an_epoch_gives_no_alarm(recwarn: pytest.WarningsRecorder) -> None:
    learner = fit(addition(), 60, 300)
    assert learner.verdict_.kind in ("learnt", "partly")
    assert not [one for one in recwarn if "nothing" in str(one.message)]


def test_a_run_folder_keeps_the_verdict_and_at_most_three_figures(tmp_path: Path) -> None:
    learner = fit(addition(), 400, 20, test=100, out=tmp_path / "run")
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert summary["verdict"] == learner.verdict_.to_json()
    assert summary["verdict"]["checked_on"] == "held-out answers"
    assert [one["name"] for one in summary["headline"]] == [
        "held-out answers explained",
        "held-out symbols correct",
        "training answers explained",
    ]
    assert all(0 <= one["chance"] < one["value"] <= 1 for one in summary["headline"])
