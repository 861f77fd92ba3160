"""GroundingLoss: its value and slopes against enumeration, what it refuses, and what PyTorch does to modules."""

from __future__ import annotations

import copy
import io
import math
import pickle
import threading
import warnings
from typing import Any

import cpmpy as cp
import pytest
import torch
from test_posterior import KINDS, enumerated, known_of, task_of
from torch import Tensor

import softground as sg
from softground import Between, Categorical, Family, Not, OneOf, Task
from softground.errors import ConstraintError, DataError, InfeasibleAnswer, LearnerError, NoLaw, SpaceError
from softground.layer.answer_codes import collate
from softground.layer.grounding_loss import GroundingLoss


def logits_of(kind: str, seed: int = 0, dtype: torch.dtype = torch.float64) -> Tensor:
    space, count = task_of(kind).space, len(KINDS[kind][3])
    return torch.randn(count, space.sites, space.outputs, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def softened(kind: str, logits: Tensor, gamma: float, known: Any = None) -> Tensor:
    """−Σ Q* log P by enumeration, Q* held fixed."""
    states, w = enumerated(kind, logits.detach(), gamma, known)
    space = task_of(kind).space
    log_p = space.belief(logits).scores
    rows = torch.arange(len(logits))[:, None, None]
    each = log_p[rows, torch.arange(space.sites), states].sum(2)
    return -(w / w.sum(1, keepdim=True) * each).nan_to_num(neginf=0.0).sum(1)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("pinned", [False, True])
def test_value_and_slopes(kind: str, pinned: bool) -> None:
    answers, known = KINDS[kind][3], known_of(kind) if pinned else None
    loss = GroundingLoss(task_of(kind), reduction="none")
    bound = GroundingLoss(task_of(kind), answers=answers, known=known, reduction="none")
    index = torch.arange(len(answers))
    for gamma in (1.0, 0.3, 2.5):
        loss.gamma = bound.gamma = gamma
        logits = logits_of(kind).requires_grad_()
        wanted = softened(kind, logits, gamma, known)
        if gamma == 1:
            _, w = enumerated(kind, logits.detach(), 1.0, known)
            torch.testing.assert_close(loss(logits, answers, known=known), -w.sum(1).log())
        else:
            torch.testing.assert_close(loss(logits, answers, known=known), wanted)
        (slope,) = torch.autograd.grad(wanted.sum(), logits)
        for found in (loss(logits, answers, known=known), bound(logits, index=index)):
            torch.testing.assert_close(torch.autograd.grad(found.sum(), logits)[0], slope)


def test_reductions_and_order() -> None:
    task, answers, logits = task_of("program"), KINDS["program"][3], logits_of("program")
    each = GroundingLoss(task, reduction="none")(logits, answers)
    assert each.shape == (6,)
    torch.testing.assert_close(GroundingLoss(task)(logits, answers), each.mean())
    torch.testing.assert_close(GroundingLoss(task, reduction="sum")(logits, answers), each.sum())
    bound = GroundingLoss(task, answers=answers, reduction="none")
    order = torch.tensor([4, 2, 2, 0])
    torch.testing.assert_close(bound(logits[order], index=order), each[order])
    torch.testing.assert_close(bound(logits[order], index=order.tolist()), each[order])
    assert GroundingLoss(task)(logits[:0], []) == 0
    assert bound(logits[:0], index=[]).shape == (0,)


def test_other_data_are_bound_to_the_same_loss() -> None:
    task, logits = task_of("program"), logits_of("program")
    loss = GroundingLoss(task, answers=[3, 4, 5], gamma=2.0, scaled=1.0)
    other = loss.bind([9, Between(1, 3)])
    assert (other.gamma, other.scaled, other.training, other.rule) == (2.0, 1.0, False, task)
    torch.testing.assert_close(
        other(logits[:2], index=[0, 1]), GroundingLoss(task, gamma=2.0)(logits[:2], [9, Between(1, 3)])
    )
    with pytest.raises(DataError, match="from 0 to 2; there are 2"):
        other(logits[:2], index=[0, 2])
    assert loss.training


def test_answers_that_nothing_explains() -> None:
    task, logits = task_of("program"), logits_of("program")
    with pytest.raises(InfeasibleAnswer, match=r"2 example.* 1 .answer 99.") as found:
        GroundingLoss(task, answers=[3, 99, 4, 50])
    assert found.value.examples == (1, 3)
    with pytest.raises(InfeasibleAnswer) as found:
        GroundingLoss(task)(logits[:3], [3, 99, 4])
    assert found.value.examples == (1,)
    with pytest.raises(ConstraintError, match=r"Example 1: .*tuple"):
        GroundingLoss(task, answers=[3, (3,)])
    known = [None, (1, None, None), None]
    with pytest.raises(InfeasibleAnswer, match="known symbols") as found:
        GroundingLoss(task, answers=[3, 0, 4], known=known)
    assert found.value.examples == (1,)
    with pytest.raises(InfeasibleAnswer, match="known symbols"):
        GroundingLoss(task)(logits[:3], [3, 0, 4], known=known)
    for gamma in (1.0, 2.0):
        drop = GroundingLoss(task, unexplained="drop", gamma=gamma)
        plain = GroundingLoss(task, reduction="none", gamma=gamma)(logits[:3], [3, 3, 4])
        torch.testing.assert_close(drop(logits[:3], [3, 99, 4]), plain[[0, 2]].mean())
        torch.testing.assert_close(
            drop(logits[:3], [3, 0, 4], known=[None, (1, None, None), None]), plain[[0, 2]].mean()
        )
        drop.reduction = "none"
        assert drop(logits[:3], [3, 99, 4])[1] == 0
        bound = GroundingLoss(task, answers=[3, 99, 4], unexplained="drop", gamma=gamma)
        torch.testing.assert_close(bound(logits[:3], index=[0, 1, 2]), plain[[0, 2]].mean())
        assert GroundingLoss(task, unexplained="drop")(logits[:1], [99]) == 0


def test_slips_are_refused() -> None:
    task, logits = task_of("program"), logits_of("program")
    loss, bound = GroundingLoss(task), GroundingLoss(task, answers=[3, 4, 5])
    for call, message in (
        (lambda: loss(logits[:4], [3, 4, 5]), "4 rows of logits have 3 answers"),
        (lambda: loss(logits[:2], index=[0, 1]), "answers="),
        (lambda: loss(logits[:2]), "No answers"),
        (lambda: bound(logits[:2]), "index=rows"),
        (lambda: bound(logits[:2], torch.tensor([0, 1])), "index=rows"),
        (lambda: bound(logits[:2], [3, 4], index=[0, 1]), "takes the place"),
        (lambda: bound(logits[:2], index=[0]), "whole number"),
        (lambda: bound(logits[:2], index=torch.tensor([0.0, 1.0])), "whole number"),
        (lambda: bound(logits[:2], index=[-1, 0]), "from -1 to 0"),
        (lambda: loss(logits[:2], [3, 4], lengths=[3, 3]), "Family"),
        (lambda: GroundingLoss(task, known=[None]), "answers="),
        (lambda: GroundingLoss(task, answers=[3, 4], known=[None]), "2 answers have 1 rows"),
        (lambda: GroundingLoss(task, method="chains"), "answers="),
    ):
        with pytest.raises(DataError, match=message):
            call()
    for setting in ({"reduction": "total"}, {"unexplained": "ignore"}, {"method": "guess"}):
        with pytest.raises(LearnerError, match="expected one of"):
            GroundingLoss(task, **setting)  # type: ignore[arg-type]
    loss.scaled = 2.0
    with pytest.raises(LearnerError, match="0 to 1"):
        loss(logits[:1], [3])
    with pytest.raises(SpaceError, match="positive"):
        GroundingLoss(task, gamma=0.0)(logits[:1], [3])
    with pytest.raises(SpaceError, match="ensemble"):
        GroundingLoss(task)(logits[None], [3])
    with pytest.raises(LearnerError, match="GroundingLoss"):
        sg.training.SemanticLoss()(logits, [3] * 6)
    with pytest.warns(UserWarning, match="logits, not probabilities"):
        GroundingLoss(task)(logits.softmax(-1), [3] * 6)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        GroundingLoss(task)(logits.log_softmax(-1), [3] * 6)


def test_several_lengths() -> None:
    def total(sites: int) -> Task:
        space = Categorical([range(4)] * sites)
        return Task(space, sg.Program(lambda *z: sum(z), space))

    family = Family(total, [2, 3])
    torch.manual_seed(0)
    logits = torch.randn(5, 3, 4, requires_grad=True)
    lengths, answers = torch.tensor([3, 2, 2, 3, 2]), [5, 4, Not(2), None, 6]
    each = torch.stack(
        [
            -family[int(n)].log_prob(row[None, : int(n)], [a])[0]
            for row, n, a in zip(logits, lengths, answers, strict=True)
        ]
    )
    loss = GroundingLoss(family, reduction="none")
    bound = GroundingLoss(family, answers=answers, lengths=lengths, reduction="none")
    found = loss(logits, answers, lengths=lengths)
    torch.testing.assert_close(found, each)
    torch.testing.assert_close(bound(logits, index=torch.arange(5)), each)
    order = [3, 1, 1]
    torch.testing.assert_close(bound(logits[order], index=order), each[order])
    (slope,) = torch.autograd.grad(found.sum(), logits)
    assert bool((slope[lengths == 2][:, 2] == 0).all())
    loss.scaled = 1.0
    assert torch.isfinite(loss(logits, answers, lengths=lengths)).all()
    with pytest.raises(DataError, match="lengths"):
        loss(logits, answers)
    with pytest.raises(InfeasibleAnswer) as error:
        GroundingLoss(family, answers=[1, 1, 8], lengths=[3, 2, 2])
    assert error.value.examples == (2,)


def grid() -> Task:
    space = Categorical([range(10)] * 9)
    rows = [[0, 1, 2], [3, 4, 5], [6, 7, 8], [0, 3, 6], [1, 4, 7], [2, 5, 8]]
    return Task(space, sg.All([sg.Sum(sites) for sites in rows], space), budget=sg.Budget(seconds=1, solutions=1000))


def test_parts_of_a_conjunction() -> None:
    task = grid()
    with pytest.warns(UserWarning, match="weaker"):
        loss = GroundingLoss(task, answers=[(6, 15, 24, 12, 15, 18), (None, 15, 24, 12, 15, 18)], reduction="none")
    torch.manual_seed(0)
    logits = torch.randn(2, 9, 10, dtype=torch.float64, requires_grad=True)
    found = loss(logits, index=[0, 1])
    log_p = logits.log_softmax(-1)

    def part(row: int, sites: list[int], total: int) -> Tensor:
        states = torch.cartesian_prod(*[torch.arange(10)] * 3)
        states = states[states.sum(1) == total]
        return log_p[row, torch.tensor(sites), states].sum(1).logsumexp(0)

    rows = [[0, 1, 2], [3, 4, 5], [6, 7, 8], [0, 3, 6], [1, 4, 7], [2, 5, 8]]
    wanted = sum(part(0, sites, n) for sites, n in zip(rows, (6, 15, 24, 12, 15, 18), strict=True))
    torch.testing.assert_close(found[0], -wanted * 9 / 18)  # type: ignore[operator]
    (slope,) = torch.autograd.grad(found.sum(), logits)
    loss.gamma = 1 + 1e-12
    torch.testing.assert_close(torch.autograd.grad(loss(logits, index=[0, 1]).sum(), logits)[0], slope)
    with pytest.raises(InfeasibleAnswer) as error:
        loss.bind([(6, 15, 24, 12, 15, 18), (6, 15, 24, 12, 15, 19), (99, 1, 1, 1, 1, 1)])
    assert 2 in error.value.examples
    with pytest.raises(NoLaw, match="Budget"):
        GroundingLoss(task, method="exact", answers=[(6, 15, 24, 12, 15, 18)])


def test_chains_walk_for_every_example() -> None:
    """The mean of many calls is the softened loss; and they learn."""
    space = Categorical([range(4)] * 3)
    task = Task(space, sg.Program(lambda *z: sum(z), space))
    answers = [5, 3, Not(3), None]
    loss = GroundingLoss(task, answers=answers, method="chains", reduction="none", gamma=2.0)
    torch.manual_seed(0)
    logits = torch.randn(4, 3, 4, dtype=torch.float64)
    exact = GroundingLoss(task, gamma=2.0, reduction="none")(logits, answers)
    mean = torch.stack([loss(logits, index=range(4)) for _ in range(1500)])[100:].mean(0)
    torch.testing.assert_close(mean, exact, rtol=0.1, atol=0.1)
    with pytest.raises(DataError, match="index"):
        loss(logits, answers)
    with pytest.raises(InfeasibleAnswer) as error:
        loss.bind([3, 99])
    assert error.value.examples == (1,)
    known = GroundingLoss(task, answers=[5], known=[(2, None, None)], method="chains", reduction="none")
    assert torch.isfinite(known(logits[:1], index=[0])).all()


def usage(logits: Tensor) -> Tensor:
    return logits.softmax(-1).mean((0, 1))


def test_scaled_grounding() -> None:
    """Q* ∝ (P/u^c)^{1/γ} by enumeration; off in eval(); a running mean where a batch is small."""
    space = Categorical([range(3)] * 2)
    task = Task(space, sg.Program(lambda a, b: a + b, space))
    torch.manual_seed(0)
    logits = 2 * torch.randn(8, 2, 3, dtype=torch.float64)
    answers = [2, 1, 3, 2, 4, 2, 0, 3]
    loss = GroundingLoss(task, answers=answers, scaled=0.7, gamma=1.5, reduction="none")
    plain = GroundingLoss(task, answers=answers, gamma=1.5, reduction="none")
    states = torch.cartesian_prod(torch.arange(3), torch.arange(3))
    log_p = logits.log_softmax(-1)

    def by_hand(rows: slice, u: Tensor) -> Tensor:
        found = []
        for row in range(*rows.indices(8)):
            mine = states[states.sum(1) == answers[row]]
            each = log_p[row, torch.arange(2), mine].sum(1)
            q = ((each - 0.7 * u[mine].log().sum(1)) / 1.5).softmax(0)
            found.append(-(q * each).sum())
        return torch.stack(found)

    assert list(loss.state_dict()) == ["usage"]
    torch.testing.assert_close(loss(logits, index=range(8)), by_hand(slice(8), usage(logits)), rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(loss.usage, usage(logits).float())
    small = slice(0, 2)  # 4 sites for 3 symbols: 5 ninths are kept
    u = 5 / 9 * usage(logits) + 4 / 9 * usage(logits[small])
    torch.testing.assert_close(loss(logits[small], index=range(2)), by_hand(small, u), rtol=1e-6, atol=1e-6)
    again = GroundingLoss(task, answers=answers, scaled=0.7, gamma=1.5, reduction="none")
    again.load_state_dict(loss.state_dict())
    torch.testing.assert_close(again.usage, u.float())
    torch.testing.assert_close(loss.eval()(logits, index=range(8)), plain(logits, index=range(8)))
    loss.train().scaled = 0.0
    torch.testing.assert_close(loss(logits, index=range(8)), plain(logits, index=range(8)))


def sum_of_three(a: int, b: int, c: int) -> int:
    return a + b + c


def test_copies_and_pickles() -> None:
    space = Categorical([range(4)] * 3)
    rules = [sg.Program(sum_of_three, space), sg.CPMpy(sum_is, space)]
    logits = logits_of("program")[:3]
    for rule in rules:
        loss = GroundingLoss(rule, answers=[5, OneOf(1, 2), 3], gamma=0.5)
        wanted = loss(logits, index=[0, 1, 2])
        twin = copy.deepcopy(loss)
        assert twin.rule is loss.rule
        torch.testing.assert_close(twin(logits, index=[0, 1, 2]), wanted)
        twin.gamma = 3.0
        assert loss.gamma == 0.5
        travelled = pickle.loads(pickle.dumps(loss))
        torch.testing.assert_close(travelled(logits, index=[0, 1, 2]), wanted)
        stream = io.BytesIO()
        torch.save(loss.state_dict(), stream)
        averaged = torch.optim.swa_utils.AveragedModel(torch.nn.Sequential(torch.nn.Linear(2, 2), loss))
        torch.testing.assert_close(averaged.module[1](logits, index=[0, 1, 2]), wanted)
    with pytest.raises((pickle.PicklingError, AttributeError), match="lambda"):
        pickle.dumps(GroundingLoss(sg.Program(lambda a, b, c: a, space)))


def sum_is(z: Any, y: Any) -> Any:
    return cp.sum(z) == y


def test_inference_mode_and_autocast() -> None:
    torch.manual_seed(0)
    for kind in ("program", "scan", "all"):
        answers, logits = KINDS[kind][3], logits_of(kind, dtype=torch.float32)
        loss = GroundingLoss(task_of(kind), answers=answers)
        for gamma in (1.0, 2.0):
            loss.gamma = gamma
            wanted = loss(logits, index=range(6))
            with torch.inference_mode():
                torch.testing.assert_close(loss(logits, index=range(6)), wanted)
                torch.testing.assert_close(GroundingLoss(task_of(kind), gamma=gamma)(logits.clone(), answers), wanted)
            with torch.autocast("cpu", torch.bfloat16):
                found = loss(logits, index=range(6))
            assert found.dtype == torch.float32
            torch.testing.assert_close(found, wanted)
            low = loss(logits.bfloat16(), index=range(6))
            assert low.dtype == torch.float32
            torch.testing.assert_close(low, loss(logits.bfloat16().float(), index=range(6)))


def test_a_compiled_model_breaks_once() -> None:
    from torch._dynamo.testing import CompileCounter

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(4, 4)
            self.loss = GroundingLoss(task_of("scan"), answers=KINDS["scan"][3])

        def forward(self, x: Tensor, index: Tensor) -> Tensor:
            return self.loss(self.layer(x), index=index) * 2  # type: ignore[no-any-return]

    torch._dynamo.reset()
    counter, model = CompileCounter(), Model()
    compiled = torch.compile(model, backend=counter)
    x = torch.randn(6, 3, 4)
    torch.testing.assert_close(compiled(x, torch.arange(6)), model(x, torch.arange(6)))
    compiled(x, torch.arange(6).flip(0)).backward()
    assert counter.frame_count <= 2  # before the loss, and after it
    assert model.layer.weight.grad is not None


def test_threads_may_share_it() -> None:
    space = Categorical([range(6)] * 3)
    loss = GroundingLoss(sg.Program(lambda *z: sum(z), space), reduction="none")
    reference = GroundingLoss(sg.Program(lambda *z: sum(z), space), reduction="none")
    logits = torch.randn(4, 3, 6, dtype=torch.float64)
    faults: list[float] = []

    def work(seed: int) -> None:
        for turn in range(20):
            low = (seed + turn) % 10
            answers = [Between(low, low + 3), low, Not(OneOf(low, seed)), None]
            faults.append(float((loss(logits, answers) - wanted[low, seed]).abs().max()))

    wanted = {}
    for seed in range(8):
        for low in range(10):
            wanted[low, seed] = reference(logits, [Between(low, low + 3), low, Not(OneOf(low, seed)), None])
    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(faults) == 160
    assert max(faults) < 1e-9


def test_functional_transforms() -> None:
    loss, answers = GroundingLoss(task_of("program")), KINDS["program"][3]
    logits = logits_of("program")
    slope = torch.func.grad(lambda x: loss(x, answers))(logits)
    some = logits.clone().requires_grad_()
    (wanted,) = torch.autograd.grad(loss(some, answers), some)
    torch.testing.assert_close(slope, wanted)


def test_collate_keeps_answers_as_they_are() -> None:
    pairs = [(torch.ones(2) * n, answer) for n, answer in enumerate([(3, 4), Between(1, 2), None])]
    batches = list(torch.utils.data.DataLoader(pairs, 2, collate_fn=collate))
    assert [list(answers) for _, answers in batches] == [[(3, 4), Between(1, 2)], [None]]
    answers = batches[0][1]
    assert answers.to("cpu", non_blocking=True) is answers
    assert answers.pin_memory() is answers
    assert len(answers) == 2


def test_nothing_is_infinite() -> None:
    """Extreme logits give finite losses and slopes."""
    logits = (1000 * torch.randn(6, 3, 4, dtype=torch.float32)).requires_grad_()
    loss = GroundingLoss(task_of("program"), answers=KINDS["program"][3])
    for gamma in (0.1, 1.0, math.inf):
        loss.gamma = gamma
        value = loss(logits, index=range(6))
        assert torch.isfinite(value)
        assert torch.isfinite(torch.autograd.grad(value, logits)[0]).all()
