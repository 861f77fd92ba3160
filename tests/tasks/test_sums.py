"""Sums of rows of digits of several lengths."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from softground.cli import main
from softground.constraints.scan.long_sums import Convolved
from softground.data import Examples
from softground.data.digits import load_digits
from softground.data.gathered import Gathered
from softground.errors import DataError
from softground.experiments import Experiment
from softground.learner import evaluation
from softground.learner.datasets import Batches
from softground.learner.evaluation import output_of
from softground.networks import PerSite
from softground.tasks.sums import Sums, sums_task


def test_every_image_is_used_once_and_lengths_take_turns() -> None:
    split = Sums(digits=(2, 4)).load(0)
    pools = load_digits("digits", None)
    for data, pool in zip((split.train, split.test), pools[:2], strict=True):
        rounds = len(pool.labels) // 9
        assert [len(part) for part in data.parts.values()] == [rounds] * 3
        assert [len(data[i][0]) for i in range(6)] == [2, 3, 4, 2, 3, 4]
        shown = torch.cat([part.symbols.flatten() for part in data.parts.values()]).bincount(minlength=10)
        there = torch.from_numpy(pool.labels).long().bincount(minlength=10)
        assert bool((shown <= there).all())
        assert int((there - shown).sum()) == len(pool.labels) % 9
        for part in data.parts.values():
            assert part.y == part.symbols.sum(1).tolist()


def test_where_images_recur_a_validation_part_has_others() -> None:
    split = Sums(digits=(2, 50), train_size=490, test_size=49, repeat=True).load(3)
    cut = split.hold_out(0.2, 1)
    kept, held = cut.train, cut.validation
    assert (len(kept), len(held), len(split.train)) == (392, 98, 490)

    def shown(rows: Any) -> set[bytes]:
        return {image.numpy().tobytes() for part in rows.parts.values() for x in part.x for image in x}

    assert shown(kept)
    assert shown(kept).isdisjoint(shown(held))
    assert shown(kept) | shown(held) <= {image.tobytes() for image in load_digits("digits", None)[0].images}
    for part in held.parts.values():
        assert part.y == part.symbols.sum(1).tolist()
    assert split.hold_out(0.2, 1).train.parts[7].y == kept.parts[7].y  # the same seed, the same rows
    once = Sums(digits=(2, 4)).load(0).hold_out(0.25, 1)  # where each is used once, rows have their own anyway
    assert shown(once.train).isdisjoint(shown(once.validation))


def test_the_law_of_a_sum() -> None:
    task = sums_task(3)
    z = task.space.states(torch.arange(1000))
    y = task.constraint.encode([7])
    assert task.feasible(z, y.expand(1000)).tolist() == (z.sum(1) == 7).tolist()
    assert task.compute(z[[123]]) == [6]


@pytest.mark.parametrize("digits", [(), (1, 3), (3, 2, 4), (2, 2049)])
def test_rows_that_are_refused(digits: tuple[int, ...]) -> None:
    with pytest.raises(DataError, match="from 2 to 2048"):
        Sums(digits=digits).load(0)


def test_a_run_of_each_preset(tmp_path: Any) -> None:
    for preset in ("best", "paper"):
        tiny = ["--digits", "2", "3", "--train-size", "20", "--epochs", "1", "--network", "lenet", "--device", "cpu"]
        assert main(["train", "sums", "--preset", preset, *tiny, "--out", str(tmp_path / preset)]) == 0
    made: Any = Experiment.named("sums", digits=(4,), train_size=8)
    assert list(made.train.parts) == [4]
    with pytest.raises(DataError, match="training rows"):
        Experiment.named("sums", train_size=10**6)


def test_images_recur_where_they_may() -> None:
    """The published setting: the pool is repeated, its last copy cut, shuffled and dealt out."""
    split = Sums(digits=(300,), repeat=True, train_size=10, test_size=4).load(0)
    pool = load_digits("digits", None)[0]
    (part,) = split.train.parts.values()
    shown = part.x.index.flatten().bincount(minlength=len(pool.labels))
    assert (int(shown.min()), int(shown.max())) == (2, 3)  # 3,000 images of 1,348
    assert part.x.pool.shape == (len(pool.labels), 1, 16, 16)
    assert part.x.shape == (10, 300, 1, 16, 16)
    assert torch.equal(part.symbols, torch.from_numpy(pool.labels)[part.x.index].long())
    assert part.y == part.symbols.sum(1).tolist()
    assert len(split.test) == 4
    held = split.hold_out(0.2, seed=1)
    assert [len(each) for each in (held.train, held.validation)] == [8, 2]
    (few,) = held.validation.parts.values()
    assert torch.equal(held.validation[1][0], few.x[1])
    assert few.x.pool.shape[0] == round(0.2 * len(pool.labels))
    with pytest.raises(DataError, match="test rows"):
        Sums(digits=(100,), test_size=10).load(0)
    with pytest.raises(DataError, match="recur"):
        Sums(digits=(2048,)).load(0)


def test_a_run_of_long_sums_that_is_resumed(tmp_path: Any) -> None:
    tiny = ["--digits", "100", "--repeat", "--train-size", "20", "--test-size", "4", "--network", "lenet"]
    folder = str(tmp_path / "run")
    assert (
        main(["train", "sums", *tiny, "--device", "cpu", "--validation", "0.2", "--epochs", "1", "--out", folder]) == 0
    )
    assert main(["resume", folder, "--epochs", "2"]) == 0  # the same data, or it would be refused
    made: Any = Experiment.named("sums", digits=(100,), repeat=True, train_size=20, test_size=4)
    assert isinstance(made.task[100].constraint.tables(torch.device("cpu")).recursion, Convolved)


def test_each_image_is_read_once_where_a_batch_shows_more_than_there_are() -> None:
    """In training and evaluation, with the same figures; a network that looks at whole rows gets whole rows."""
    pool, index = torch.rand(6, 1, 8, 8), torch.randint(0, 6, (5, 4), generator=torch.Generator().manual_seed(0))
    x, rows = Gathered(pool, index), torch.tensor([3, 1])
    assert isinstance(x.batch(torch.arange(5)), Gathered)  # 20 images of 6
    assert isinstance(x.batch(rows[:1]), torch.Tensor)  # 4 of 6
    assert torch.equal(x.batch(rows)[:], x[rows])
    seen: list[int] = []
    network = PerSite(nn.Sequential(nn.Flatten(), nn.Linear(64, 10)), (1, 8, 8))
    network.classifier.register_forward_hook(lambda layer, given, output: seen.append(len(output)))
    weight = network.classifier[1].weight  # type: ignore[index]
    slopes = []
    for each in (x, x[:]):
        output = output_of(network, each)
        slopes.append(torch.autograd.grad((output * torch.arange(200.0).view(5, 4, 10)).sum(), weight)[0])
        torch.testing.assert_close(output, network(x[:]))
    torch.testing.assert_close(*slopes)
    assert seen == [6, 20, 20, 20]
    whole = nn.Sequential(nn.Flatten(2), nn.Flatten(1), nn.Linear(256, 40), nn.Unflatten(1, (4, 10)))
    torch.testing.assert_close(output_of(whole, x), whole(x[:]))


def test_a_run_reads_each_image_once_a_batch() -> None:
    made: Any = Experiment.named(
        "sums", digits=(100,), repeat=True, train_size=40, test_size=20, batch_size=20, epochs=1, network="lenet"
    )
    learner = made.learner()
    sizes: list[int] = []
    learner.network.classifier.register_forward_hook(lambda layer, given, output: sizes.append(len(output)))
    learner.fit(made.train, test=made.test)
    train, test = (len(data.parts[100].x.pool) for data in (made.train, made.test))
    assert sizes[:2] == [train, train]  # two batches of 2,000 images
    assert {test} <= set(sizes[2:]) <= {test, train, 200}  # evaluations, and a look at the training data


def test_an_evaluation_reads_each_image_once_however_many_batches_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluation, "BATCH", 2)
    monkeypatch.setattr(evaluation, "IMAGES", 4)
    pool, index = torch.rand(6, 1, 8, 8), torch.randint(0, 6, (5, 4), generator=torch.Generator().manual_seed(0))
    network, sizes = PerSite(nn.Sequential(nn.Flatten(), nn.Linear(64, 10)), (1, 8, 8)).eval(), list[int]()
    network.classifier.register_forward_hook(lambda layer, given, output: sizes.append(len(output)))
    space = sums_task(4).space
    for x, expected in ((Gathered(pool, index), [4, 2]), (Gathered(pool, index[:1]), [4]), (pool[index], [8, 8, 4])):
        sizes.clear()
        read = list(evaluation.beliefs(space, network, Batches(Examples(x, [0] * len(x)), torch.device("cpu"))))
        assert sizes == expected  # fewer images than there are: these alone
        scores = torch.cat([belief.scores for _, belief in read])
        assert not scores.requires_grad
        assert torch.is_grad_enabled()
        torch.testing.assert_close(scores, space.belief(network(x[:])).scores.detach())


def test_long_sums_have_a_prior_that_falls_with_their_length_and_the_small_network() -> None:
    short, long = (Experiment.named("sums", digits=(n,), train_size=4, repeat=True, test_size=2) for n in (6, 128))
    assert (short.recipe.usage, long.recipe.usage) == ("none", "uniform")
    assert long.recipe.usage_weight == 16 / 128
    assert (short.recipe.network, long.recipe.network) == ("convnet", "strided")
    longest = Experiment.named("sums", digits=(1024,), train_size=4, repeat=True, test_size=2)
    assert [each.recipe.augment for each in (short, long, longest)] == [True, True, False]
    given = Experiment.named("sums", digits=(128,), train_size=4, repeat=True, test_size=2, network="convnet")
    assert given.recipe.network == "convnet"
