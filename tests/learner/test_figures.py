"""Figures of symbols: the known values of known shortcuts, in one task and in families, from learner to summary."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from sklearn.metrics import f1_score
from torch import Tensor, nn

import softground as sg
from learner_cases import addition, examples, make_learner
from softground.experiments import Experiment
from softground.metrics import calibration_error

HALF = [(0, 0), (0, 1), (1, 0), (2, 3), (3, 2), (2, 4), (4, 2)]
EVEN_ODD = [(0, 6), (1, 5), (2, 8), (4, 6), (3, 7), (1, 9), (4, 8), (3, 9)]
EVEN_ODD += [(b, a) for a, b in EVEN_ODD]
SURE = 1e4  # a logit that leaves nothing to the others


class Maps(nn.Module):
    """Reads one-hot digits as the images of a map, with certainty or with noise."""

    def __init__(self, image: tuple[int, ...], noise: float = 0.0, scale: float = SURE) -> None:
        super().__init__()
        self.image, self.noise, self.scale = torch.tensor(image), noise, scale

    def forward(self, x: Tensor) -> Tensor:
        output = self.scale * nn.functional.one_hot(self.image[x.argmax(-1)], x.shape[-1]).float()
        return output + self.noise * torch.randn(output.shape, generator=torch.Generator().manual_seed(0))


def sums(digits: int, sites: int = 2, **given: Any) -> sg.Task:
    space = sg.Categorical([range(digits)] * sites)
    return sg.Task(space, sg.Program(lambda *z: sum(z), space), **given)


def pictured(z: Tensor, digits: int) -> sg.Examples:
    return sg.Examples(nn.functional.one_hot(z, digits).float(), z.sum(1).tolist(), z)


@pytest.mark.parametrize(
    ("digits", "pairs", "image", "expected"),
    [
        (5, HALF, (0, 1, 2, 3, 4), (1, 0, 0)),
        (5, HALF, (0, 1, 3, 2, 3), (6 / 14, 8 / 14, 0.2)),
        (10, EVEN_ODD, tuple(range(10)), (1, 0, 0)),
        (10, EVEN_ODD, (2, 2, 4, 4, 6, 4, 4, 6, 6, 8), (0, 1, 0.6)),
    ],
)
def test_certain_shortcuts(digits: int, pairs: Any, image: Any, expected: tuple[float, ...]) -> None:
    task = sums(digits)
    model = sg.model.Model(Maps(image), task.space, task)
    found = model.evaluate(pictured(torch.tensor(pairs), digits))
    assert found["answer_accuracy"] == 1
    names = ("symbol_accuracy", "symbol_ece", "symbol_collapse")
    assert [found[name] for name in names] == pytest.approx(expected)


def test_values_that_do_not_occur_count_in_the_second_figures_alone() -> None:
    task = sums(10)
    data = pictured(torch.tensor(HALF), 10)
    found = sg.model.Model(Maps(tuple(range(10))), task.space, task).evaluate(data)
    assert (found["symbol_f1"], found["symbol_f1_all"]) == (1, 0.5)
    assert (found["symbol_collapse"], found["symbol_collapse_all"]) == (0, 0.5)


def test_a_family_counts_all_sites_together() -> None:
    """A mean over shapes would be another figure."""
    chance = torch.Generator().manual_seed(1)
    z = {sites: torch.randint(4, (count, sites), generator=chance) for sites, count in ((1, 40), (3, 20))}
    z[1] %= 2  # shapes in which different values occur
    data = {sites: pictured(codes, 4) for sites, codes in z.items()}
    tasks = {sites: sums(4, sites) for sites in z}
    network = Maps((0, 1, 2, 2), noise=1.5, scale=2.0)
    family = sg.Family(tasks)
    found = sg.model.Model(network, {s: t.space for s, t in tasks.items()}, family).evaluate(data)
    believed = [tasks[s].space.belief(network(data[s].x)) for s in z]
    read, truth = (torch.cat([p.flatten() for p in parts]) for parts in ([b.mode() for b in believed], z.values()))
    sure = torch.cat([belief.marginals().max(-1).values.flatten() for belief in believed])
    assert found["symbol_f1"] == pytest.approx(f1_score(truth, read, average="macro"))
    assert found["symbol_ece"] == pytest.approx(calibration_error(sure, read == truth))
    for name in ("symbol_f1", "symbol_ece"):
        each = [found[f"shape_{s}_{name}"] for s in z]
        assert found[name] != pytest.approx((40 * each[0] + 20 * each[1]) / 60, abs=1e-3)
        alone = sg.model.Model(network, tasks[3].space, tasks[3]).evaluate(data[3])
        assert found[f"shape_3_{name}"] == alone[name]
    own = [found[f"shape_{s}_symbol_accuracy"] for s in z]
    assert found["symbol_accuracy"] == pytest.approx((40 * own[0] + 20 * own[1]) / 60)  # as a task's own figures are


def test_names_that_a_rule_leaves_open_are_compared_under_the_best_renaming() -> None:
    space = sg.Categorical([range(4)] * 2)
    task = sg.Task(space, sg.Program(lambda a, b: a == b, space), nameless_symbols=True)
    z = torch.randint(4, (50, 2), generator=torch.Generator().manual_seed(0))
    data = sg.Examples(nn.functional.one_hot(z, 4).float(), (z[:, 0] == z[:, 1]).tolist(), z)
    found = sg.model.Model(Maps((2, 3, 1, 0)), space, task).evaluate(data)
    names = ("accuracy", "f1", "f1_all", "collapse", "collapse_all", "ece")
    assert [found[f"relabelled_symbol_{name}"] for name in names] == [1, 1, 1, 0, 0, 0]
    assert not {"symbol_f1", "symbol_ece"} & found.keys()


def test_sites_with_alphabets_of_their_own_share_the_values_of_their_union() -> None:
    space = sg.Categorical(["abc", "cd"], readings="all")
    task = sg.Task(space, sg.Program(lambda a, b: (a, b), space))
    z = space.encode([("a", "c"), ("c", "d"), ("b", "c"), ("b", "d")])
    read = torch.tensor([[0, 2], [2, 2], [1, 2], [3, 3]])  # a c, c c, b c, d d: the last d is no symbol of its site
    x = SURE * nn.functional.one_hot(read, 4).float()
    found = sg.model.Model(nn.Identity(), space, task).evaluate(sg.Examples(x, space.decode(z), z))
    f1 = f1_score([*"acbbcdcd"], [*"acbdcccd"], average="macro")
    assert (found["symbol_f1"], found["symbol_accuracy"]) == pytest.approx((f1, 6 / 8))


def test_during_training_there_are_the_metrics_of_the_task_alone() -> None:
    task = addition()
    learner = make_learner(task).fit(examples(task, 40), examples(task, 30, seed=1), examples(task, 20, seed=2))
    assert not any(name.endswith(("_f1", "_ece", "_collapse")) for record in learner.history_ for name in record)
    assert {"symbol_f1", "symbol_ece", "validation_symbol_f1"} <= learner.results_["I"].keys()
    assert learner.results_["I"].items() >= learner.evaluate(examples(task, 30, seed=1)).items()


def test_reals_have_no_such_figures() -> None:
    experiment = Experiment.named("sdsp", nodes=6, train_size=4, test_size=4, device="cpu")
    assert not any("symbol" in name for name in experiment.learner().evaluate(experiment.held_out))
