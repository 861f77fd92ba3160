"""Any map-style data set of (x, y) will do: tensors are held on the device, the rest is read item by item."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import Dataset, Subset, TensorDataset, random_split

from learner_cases import adam, addition, classifier, equal, examples, make_learner, weights
from softground import Categorical, Examples, Program, Task, grounding_stages
from softground.data.known import reveal
from softground.errors import ConstraintError, DataError
from softground.learner.datasets import Batches, parts_of

CPU = torch.device("cpu")


class Plain(Dataset[Any]):
    """Pairs made on demand; counts how often each item was read."""

    def __init__(self, data: Examples, transform: Any = lambda x: x) -> None:
        self.data, self.transform = data, transform
        self.read = [0] * len(data)

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, index: int) -> tuple[Any, int]:
        self.read[index] += 1
        return self.transform(self.data.x[index]), self.data.y[index]


def trained(data: Any, test: Any = None, **settings: Any) -> dict[str, Tensor]:
    task, net = addition(), classifier()
    make_learner(task, None, net, **settings).fit(data, test)
    return weights(net)


def test_the_same_pairs_give_the_same_bits_in_any_container() -> None:
    data = examples(addition(), 80)
    reference = trained(Examples(data.x, data.y))
    assert equal(reference, trained(TensorDataset(data.x, torch.tensor(data.y))))
    assert equal(reference, trained(Plain(data)))
    assert equal(reference, trained(Plain(data, transform=np.asarray)))
    assert equal(reference, trained(Subset(data, range(80))))
    assert equal(reference, trained(list(zip(data.x, data.y, strict=True))))
    assert equal(reference, trained(Plain(data), workers=1))


def test_a_data_set_that_knows_its_answers_is_not_read_for_them() -> None:
    data = examples(addition(), 40)
    known = Plain(data)
    known.answers = data.y  # type: ignore[attr-defined]
    batches = Batches(known, CPU)
    assert (batches.answers, sum(known.read)) == (list(data.y), 0)
    assert equal(trained(known), trained(Plain(data)))
    known.answers = data.y[:-1]  # type: ignore[attr-defined]
    with pytest.raises(DataError, match="40 examples and 39 answers"):
        Batches(known, CPU)


@pytest.mark.parametrize("kind", ["held", "read", "known"])
def test_some_rows_are_held_and_read_and_named_by_their_places(kind: str) -> None:
    data, rows = reveal(examples(addition(), 40), 0.5, seed=0), range(1, 40, 3)
    plain = Plain(data)
    plain.symbols, plain.known = data.symbols, data.known  # type: ignore[attr-defined]
    if kind == "known":
        plain.answers = data.y  # type: ignore[attr-defined]
    some = Batches(data if kind == "held" else plain, CPU, rows=rows)
    some.check(addition().space)
    assert (len(some), some.total, some.answers) == (13, 40, list(data.y[1::3]))
    assert some.at(torch.arange(13)).tolist() == list(rows)
    assert [some.place(0), some.place(12)] == [1, 37]
    for mine, whole in ((some.symbols, data.symbols), (some.known, data.known)):
        assert torch.equal(mine, whole[1::3])  # type: ignore[arg-type, index]
    ((_, x),) = some.walk([torch.tensor([12, 0])])
    assert torch.equal(x, data.x[[37, 1]])
    assert sum(plain.read[i] for i in range(40) if i not in rows) == 0
    assert some.first(3).answers == list(data.y[:3])


def test_an_answer_that_is_refused_is_named_by_its_place() -> None:
    data = examples(addition(), 4)
    wrong = Examples(data.x, [*data.y[:3], "three"])
    (part,) = parts_of(addition(), wrong, CPU, share=(1, 2))
    with pytest.raises(ConstraintError, match=r"^Example 3: "):
        _ = part.y


def test_a_data_sets_own_transforms_run_every_time() -> None:
    data = examples(addition(), 40)
    distorted: list[Tensor] = []

    def transform(x: Tensor) -> Tensor:
        distorted.append(x + 0.1 * torch.randn_like(x))
        return distorted[-1]

    plain = Plain(data, transform)
    trained(plain)
    assert plain.read == [6] * 40  # for the answers, in each epoch, to judge the start, and for the verdict
    assert len({tuple(x.flatten().tolist()) for x in distorted}) == 240


def test_random_transforms_follow_the_runs_seed() -> None:
    data = examples(addition(), 40)

    def run(seed: int) -> dict[str, Tensor]:
        torch.seed()
        return trained(Plain(data, lambda x: x + 0.3 * torch.randn_like(x)), seed=seed)

    assert equal(run(1), run(1))
    assert not equal(run(1), run(2))


def test_a_subclass_that_reads_its_tensors_its_own_way_is_asked() -> None:
    data = examples(addition(), 40)

    class Shifted(TensorDataset):
        def __getitem__(self, index: int) -> Any:
            x, y = super().__getitem__(index)
            return x.flip(-1), y

    class Flipped(Examples):
        def __getitem__(self, index: int) -> Any:
            x, y = super().__getitem__(index)
            return x.flip(-1), y

    reference = trained(Examples(data.x.flip(-1), data.y))
    assert equal(reference, trained(Shifted(data.x, torch.tensor(data.y))))
    assert equal(reference, trained(Flipped(data.x, data.y)))


def test_a_random_split_of_examples_keeps_their_symbols_for_reports() -> None:
    task = addition()
    train, test = random_split(examples(task, 60), [40, 20], generator=torch.Generator().manual_seed(0))
    learner = make_learner(task).fit(train, test)
    assert "train_symbol_accuracy" in learner.history_[0]
    assert "test_symbol_accuracy" in learner.history_[0]
    whole = examples(task, 60)
    assert whole.symbols is not None
    assert torch.equal(Batches(test, CPU).symbols, whole.symbols[list(test.indices)])  # type: ignore[arg-type]


def test_inputs_may_be_dictionaries_or_tuples_of_tensors() -> None:
    task, data = addition(), examples(addition(), 40)

    class Mixed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = classifier()

        def forward(self, x: Any) -> Tensor:
            image, scale = (x["image"], x["scale"]) if isinstance(x, dict) else x
            assert image.shape[1:] == (3, 4)
            return self.inner(image) * scale.view(-1, 1, 1)  # type: ignore[no-any-return]

    for form in (lambda x: {"image": x, "scale": 1.0}, lambda x: (x, 1.0)):
        learner = make_learner(task, None, Mixed()).fit(Plain(data, form), Plain(examples(task, 20, 1), form))
        assert learner.history_[-1]["loss"] < learner.history_[0]["loss"]
        assert len(learner.predict([form(x) for x in data.x])) == 40


@pytest.mark.parametrize("answers", [["even", "odd"], [Fraction(1, 2), Fraction(1)], [(0, 1), (1, 1)]], ids=repr)
def test_answers_may_be_strings_fractions_or_tuples(answers: list[Any]) -> None:
    space = Categorical([range(2), range(2)])
    task = Task(space, Program(lambda a, b: answers[a ^ b], space))
    chance = torch.Generator().manual_seed(0)
    bits = torch.randint(2, (64, 2), generator=chance)
    x = nn.functional.one_hot(bits, 2).float()
    torch.manual_seed(0)
    learner = make_learner(task, grounding_stages(task, epochs=2, optimizer=adam), nn.Linear(2, 2))
    learner.fit(Examples(x, [answers[int(a ^ b)] for a, b in bits]))
    assert all(0 <= r["feasible"] <= 1 for r in learner.history_)


@pytest.mark.parametrize("count", [1, 2, 31, 32, 33, 65])
def test_every_example_is_seen_exactly_once_an_epoch(count: int) -> None:
    task = addition()
    seen: list[int] = []

    class Noting(Plain):
        def __getitem__(self, index: int) -> tuple[Any, int]:
            seen.append(index)
            return super().__getitem__(index)

    make_learner(task, grounding_stages(task, epochs=2, optimizer=adam)).fit(Noting(examples(task, count)))
    epochs = [seen[i : i + count] for i in range(0, 3 * count, count)]
    assert len(seen) == 5 * count  # for the answers, in each epoch, to judge the start, and for the verdict
    assert all(sorted(epoch) == list(range(count)) for epoch in epochs)
    if count > 2:
        assert epochs[1] != epochs[2]
