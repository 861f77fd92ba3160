"""Threads do not disturb each other, and nothing is left changed that was not the library's."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import torch
from test_evaluation_batches import Sitewise
from torch import nn
from torch.utils.data import Dataset
from torch.utils.data.dataloader import _MultiProcessingDataLoaderIter

from learner_cases import adam, addition, classifier, equal, examples, make_learner, weights
from softground import Program, Scan, SoftGrounder, Task, grounding_stages
from softground.errors import LearnerError
from softground.networks import Dropout, RandomLayer
from softground.spaces import Categorical


def normed() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 16), Sitewise(), nn.ReLU(), Dropout(0.3), nn.Linear(16, 4))


def test_after_a_fit_and_at_the_end_of_every_stage_the_network_is_in_evaluation_mode() -> None:
    task, net, seen = addition(), normed(), []
    stages = grounding_stages(task, epochs=1, optimizer=adam, zero_epochs=1)

    def look(event: str, facts: dict[str, Any]) -> None:
        if event == "stage":
            seen.append(any(part.training for part in net.modules()))

    make_learner(task, stages, net).fit(examples(task, 64), examples(task, 20, 1), observer=look)
    assert seen == [False, False]
    assert not any(part.training for part in net.modules())


@pytest.mark.parametrize("training", [False, True])
def test_many_threads_read_the_same_and_change_nothing(training: bool) -> None:
    task = addition()
    learner = make_learner(task, None, normed()).fit(examples(task, 64))
    learner.network.train(training)
    x, y = examples(task, 40, 1).x, examples(task, 40, 1).y
    before, expected = weights(learner.network), learner.predict_proba(x)
    most = learner.predict_codes(x, y)

    def ask(number: int) -> bool:
        if number % 3 == 0:
            return np.array_equal(learner.predict_proba(x), expected)
        if number % 3 == 1:
            return torch.equal(learner.predict_codes(x, y), most)
        return learner.evaluate(examples(task, 40, 1)) == learner.model.evaluate(examples(task, 40, 1))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(ask, range(60)))
    assert equal(before, weights(learner.network))
    assert learner.network.training is training


@pytest.mark.parametrize("kind", ["program", "scan"])
def test_threads_may_ask_for_answers_that_nobody_has_seen(kind: str) -> None:
    space = Categorical([range(10)] * 4)
    rule = Program(lambda *z: sum(z), space) if kind == "program" else Scan(lambda s, d: s + d, space)
    task = Task(space, rule)
    learner = make_learner(task, None, nn.Linear(10, 10).eval())
    x = torch.rand(37, 4, 10)

    def ask(number: int) -> list[int]:
        order = torch.randperm(37, generator=torch.Generator().manual_seed(number))
        read = learner.predict(x[order], [int(i) for i in order])
        return [sum(row) - int(i) for row, i in zip(read, order, strict=True)]

    with ThreadPoolExecutor(8) as pool:
        assert not any(any(wrong) for wrong in pool.map(ask, range(24)))


def fit(seed: int) -> list[torch.Tensor]:
    chance = torch.Generator().manual_seed(0)
    pairs = torch.randint(4, (120, 2), generator=chance)
    x = torch.eye(4)[pairs] + 0.1 * torch.randn(120, 2, 4, generator=chance)
    model = SoftGrounder(lambda a, b: 10 * a + b, [range(4)] * 2, epochs=3, seed=seed, device="cpu")
    return list(weights(model.fit(x, [10 * a + b for a, b in pairs.tolist()]).network_).values())


def test_fits_with_one_seed_give_one_result_in_threads_too() -> None:
    alone = {seed: fit(seed) for seed in (0, 1)}
    torch.manual_seed(123)
    before = torch.get_rng_state()
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(fit, [0, 1, 0, 1, 0, 0]))
    for seed, found in zip([0, 1, 0, 1, 0, 0], together, strict=True):
        assert all(torch.equal(a, b) for a, b in zip(alone[seed], found, strict=True))
    assert torch.equal(before, torch.get_rng_state())


def test_a_fit_leaves_torch_s_generator_as_it_was_even_when_it_fails() -> None:
    task = addition()
    before = torch.get_rng_state()
    net = classifier(dropout=0.5)
    torch.set_rng_state(before)
    make_learner(task, None, net).fit(examples(task, 64))
    assert torch.equal(before, torch.get_rng_state())

    def stop(event: str, facts: dict[str, Any]) -> None:
        if event == "epoch":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make_learner(task, None, net).fit(examples(task, 64), observer=stop)
    assert torch.equal(before, torch.get_rng_state())
    assert not net.training


def test_random_layers_have_the_fit_s_generator_while_it_lasts() -> None:
    class Noisy(RandomLayer):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + 0.1 * torch.randn(x.shape, generator=self.generator) if self.training else x

    task, results = addition(), []
    for junk in (1, 2):
        net = nn.Sequential(classifier(), Noisy())
        torch.manual_seed(junk)
        learner = make_learner(task, None, net)
        learner.fit(examples(task, 64), observer=lambda event, facts: torch.rand(1) and None)
        results.append(weights(net))
        assert net[1].generator is None
    assert equal(*results)


def test_a_second_fit_of_a_learner_that_is_fitting_is_refused() -> None:
    task = addition()
    learner, tried = make_learner(task), []

    def again() -> None:
        with pytest.raises(LearnerError, match="is fitting already"):
            learner.fit(examples(task, 64))
        tried.append(True)

    def look(event: str, facts: dict[str, Any]) -> None:
        if event == "epoch":
            again()  # from the observer
            thread = threading.Thread(target=again)
            thread.start()
            thread.join()

    learner.fit(examples(task, 64), observer=look)
    assert len(tried) == 6  # two in each of three epochs
    assert len(learner.history_) == 3
    assert len(learner.fit(examples(task, 64)).history_) == 3  # afterwards it may


def test_ctrl_c_leaves_what_was_learnt_so_far() -> None:
    task = addition()
    x, y = examples(task, 64).x, examples(task, 64).y

    def stop(event: str, facts: dict[str, Any]) -> None:
        if event == "epoch" and facts["epoch"] == 1:
            raise KeyboardInterrupt

    learner = make_learner(task)
    with pytest.raises(KeyboardInterrupt):
        learner.fit(examples(task, 64), examples(task, 20, 1), observer=stop)
    assert [record["epoch"] for record in learner.history_] == [0, 1]
    assert learner.results_ == {}
    assert len(learner.model.predict(x)) == len(learner.predict(x)) == 64
    stops = [None, KeyboardInterrupt()]

    class Interrupted(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            if self.training and (stop := stops.pop(0)):
                raise stop
            return x

    estimator = SoftGrounder(task, network=nn.Sequential(classifier(), Interrupted()), batch_size=32)
    with pytest.raises(KeyboardInterrupt):
        estimator.fit(x, y)  # in the second batch
    assert estimator.learner_.history_ == []
    assert len(estimator.predict(x)) == 64


def test_ctrl_c_is_heard_while_a_data_loader_s_processes_end(monkeypatch: pytest.MonkeyPatch) -> None:
    class Items(Dataset[Any]):
        def __init__(self, data: Any) -> None:
            self.data = data

        def __len__(self) -> int:
            return len(self.data)

        def __getitem__(self, index: int) -> Any:
            return self.data[index]

    shut = _MultiProcessingDataLoaderIter._shutdown_workers

    def interrupted(self: Any) -> None:
        if not self._shutdown:
            shut(self)
            raise KeyboardInterrupt

    task = addition()
    learner = make_learner(task, workers=1)
    monkeypatch.setattr(_MultiProcessingDataLoaderIter, "_shutdown_workers", interrupted)
    with pytest.raises(KeyboardInterrupt):
        learner.fit(Items(examples(task, 64)))
    assert learner.history_ == []
