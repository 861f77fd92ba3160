"""What test_distributed.py starts in several processes: a command, then runs whole and interrupted, compared by one."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from torch.optim import SGD
from torch.utils.data import Dataset

from budget import p_value
from learner_cases import (
    Stop,
    adam,
    addition,
    assert_same_run,
    classifier,
    examples,
    kernel,
    left_behind,
    make_learner,
    stop_at,
)
from softground import Anchors, Examples, Family, Learner, Stage, cli
from softground.data.known import reveal
from softground.errors import CheckpointError, DataError
from softground.learner.device import everyone
from softground.learner.run_state import chains_of
from softground.runs import RunFolder
from softground.schedules import Constant, Exponential
from softground.training import SemanticLoss, SoftenedGrounding, Usage, ZeroDegree

COUNT = 65  # one process owns 33, the other 32: in a batch of one example the other is idle
CASES = ("plain", "dropped", "known", "usage", "anchors", "everything")
CHAINS, GAMMA = 4_000, 0.7
ALARM = 1e-5  # how probably a right law is refused, once for each process


def run(folder: Path, stop: int = 0, resume: bool = False, lost: int = 0) -> Learner:
    """``lost`` of process 0's examples have answers that nothing explains, and are dropped."""
    task = addition()
    grounding = SoftenedGrounding(kernel("guided", task), Exponential(1.0, 0.9), steps=4)
    stages = [Stage("I", grounding, 4, adam, keep="best", terms=[Usage()]), Stage("II", ZeroDegree(), 1, adam)]
    learner = make_learner(task, stages, classifier(dropout=0.1), batch_size=32, unexplained="drop")
    data = reveal(examples(task, COUNT), 0.2, seed=0)
    anchors = Anchors.of(data, task.space, 2, seed=0)
    test = examples(task, 40, seed=1)
    answers = [99 if i % 2 == 0 and i < 2 * lost else y for i, y in enumerate(data.y)]
    data = Examples(data.x, answers, data.symbols, known=None if lost else data.known)
    return learner.fit(data, test, anchors=anchors, out=folder, resume=resume, observer=stop_at(stop))


def exact(case: str, folder: Path | None = None, stop: int = 0, resume: bool = False) -> Learner:
    """Training that draws nothing but the order of the batches and the anchors."""
    task = addition()
    given = set(CASES[1:-1]) if case == "everything" else {case}
    stages = [
        Stage("I", SemanticLoss(), 4, lambda p: SGD(p, lr=0.5), terms=[Usage()] if "usage" in given else []),
        Stage("II", ZeroDegree(), 2, lambda p: SGD(p, lr=0.1)),
    ]
    learner = make_learner(task, stages, classifier(), batch_size=16, unexplained="drop")
    data = examples(task, COUNT)
    anchors = Anchors.of(data, task.space, 2, seed=0, batch=9) if "anchors" in given else None
    lost = {i for i in range(COUNT) if i % 5 == 0 or (i % 4 == 2 and i < 20)} if "dropped" in given else set()
    answers = [99 if i in lost else y for i, y in enumerate(data.y)]
    known = reveal(data, 0.1, seed=0).known if "known" in given else None
    if known is not None:
        known[sorted(lost)] = -1
    data = Examples(data.x, answers, data.symbols, known=known)
    test = examples(task, 40, seed=1)
    return learner.fit(data, test, anchors=anchors, out=folder, resume=resume, observer=stop_at(stop))


def assert_exact_runs_resume(out: Path) -> None:
    for case in CASES:
        learner = exact(case, out / case)
        fabric = learner.fabric
        try:
            exact(case, out / f"{case}, stopped", 13)
            raise AssertionError("it was not stopped")
        except Stop:
            fabric.barrier()
        exact(case, out / f"{case}, stopped", resume=True)
        fabric.barrier()
        if fabric.is_global_zero:
            assert_same_run(out / f"{case}, stopped", out / case)
        fabric.barrier()


def memory_of(learner: Learner, stage: int = 0) -> dict[str, torch.Tensor]:
    """What a stage remembers of this process's examples."""
    return learner.loop.parts[0].memory[stage]


def assert_the_law(folder: Path) -> None:
    """Chains of one and the same example, walked by both processes under a network that stays, have the law Q*."""
    task = addition()
    some = examples(task, 40)
    x = some.x[some.y.index(5)][None]  # 12 of 64 states have the sum 5
    data = Examples(x.expand(CHAINS, -1, -1).contiguous(), [5] * CHAINS)
    walk = SoftenedGrounding(kernel("collapsed", task), Constant(GAMMA), steps=5)
    frozen = Stage("I", walk, 12, lambda p: SGD(p, lr=0.0))
    learner = make_learner(task, [frozen], classifier(), batch_size=CHAINS)
    learner.fit(data, out=folder)
    if not learner.fabric.is_global_zero:
        return
    chains = chains_of(RunFolder.open(folder))
    assert chains is not None
    states = task.space.states(torch.arange(task.space.size))
    with torch.no_grad():
        everywhere = task.space.belief(learner.network(x).expand(len(states), -1, -1))
        scores = everywhere.log_prob(states).double() / GAMMA
    feasible = task.feasible(states, learner.loop.parts[0].y[:1].expand(len(states)))
    law = torch.where(feasible, scores, -torch.inf).softmax(0)
    for rank in range(2):  # every other chain belongs to process 1
        counts = torch.bincount(task.space.index(chains[rank::2]), minlength=task.space.size).double()
        assert counts[~feasible].sum() == 0
        assert p_value(counts[feasible], law[feasible]) > ALARM, rank


def assert_all_end_together(folder: Path) -> None:
    """A stage that is ended by its validation part, and a run that the observer of process 0 ends."""
    task = addition()
    walk = SoftenedGrounding(kernel("guided", task), Constant(1.0))
    stages = [Stage(name, walk, 20, lambda p: SGD(p, lr=0.0), patience=2) for name in ("I", "II")]
    learner = make_learner(task, stages, classifier())

    def observer(event: str, facts: dict[str, Any]) -> bool:
        return learner.fabric.is_global_zero and event == "epoch" and facts["stage"] == "II"

    learner.fit(examples(task, COUNT), None, examples(task, 20, seed=1), out=folder, observer=observer)
    assert [r["stage"] for r in learner.history_] == ["I", "I", "I", "II"]  # a network that stays gets no better


class Read(Dataset[Any]):
    """Pairs that are read one by one; knows which were."""

    def __init__(self, data: Examples) -> None:
        self.data, self.seen = data, set[int]()

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        self.seen.add(index)
        return self.data[index]


def assert_each_reads_its_own_examples_only() -> None:
    """A training set that is read item by item; a test set is read by all."""
    task = addition()
    train, test = Read(examples(task, COUNT)), Read(examples(task, 10, seed=1))
    stages = [Stage("I", SoftenedGrounding(kernel("guided", task), Constant(1.0)), 1, adam)]
    learner = make_learner(task, stages, classifier()).fit(train, test)
    assert train.seen == set(range(learner.fabric.global_rank, COUNT, 2))
    assert test.seen == set(range(10))


def assert_suspects_are_found_by_all() -> None:
    """Wrong answers among both processes' examples are known to both."""
    task = addition()
    data = examples(task, COUNT)
    wrong = Examples(data.x, [0 if i < 8 else y for i, y in enumerate(data.y)], data.symbols)
    stage = Stage("I", SemanticLoss(), 40, adam)
    learner = make_learner(task, [stage], classifier(), noise=0.1).fit(wrong)
    told = everyone(learner.fabric, learner.suspects_)
    assert told[0] == told[1]
    assert {0, 1} <= {one.example % 2 for one in told[0] if one.example < 8}


def assert_accumulation_is_one_larger_batch() -> None:
    """Both processes' gradients of two batches are averaged, then clipped; without draws, as those of one batch."""
    task, trained = addition(), []
    for size, every in ((16, 2), (32, 1)):
        stage = Stage("I", SemanticLoss(), 3, lambda p: SGD(p, lr=0.5))
        learner = make_learner(task, [stage], classifier(), batch_size=size, accumulate=every, clip=0.2)
        trained.append(learner.fit(examples(task, COUNT)).network.state_dict())
    for name, value in trained[0].items():
        assert torch.allclose(value, trained[1][name], atol=1e-5), name
        everyone = learner.fabric.all_gather(value)
        assert torch.equal(everyone[0], everyone[1]), name  # type: ignore[index]


def assert_examples_can_be_dropped(out: Path) -> None:
    """Process 0 has 13 of its 33 examples left, the other all of its own; resumed, in Stage II, too."""
    learner = run(out / "dropped", lost=20)
    fabric = learner.fabric
    assert [record["unexplained"] for record in learner.history_] == [20] * 5
    try:
        run(out / "dropped and stopped", 16, lost=20)
        raise AssertionError("it was not stopped")
    except Stop:
        fabric.barrier()
    run(out / "dropped and stopped", resume=True, lost=20)
    fabric.barrier()
    if fabric.is_global_zero:
        assert_same_run(out / "dropped and stopped", out / "dropped")
        left = left_behind(out / "dropped")["tensors"]
        assert left["objective/0/waiting"].nonzero().flatten().tolist() == list(range(20))  # examples 0, 2, … 38
        assert "process 1: objective/0/waiting" not in left
    fabric.barrier()


def several(folder: Path, stop: int = 0, resume: bool = False) -> Learner:
    """Two lengths, of which one process has an example more than the other: it takes as many steps all the same."""
    family = Family(addition, [2, 3])

    def stages(task: Any) -> list[Stage]:
        return [Stage("I", SoftenedGrounding(kernel("guided", task), Constant(1.0), steps=2), 3, adam)]

    learner = make_learner(family, stages, classifier(dropout=0.1), batch_size=8)  # type: ignore[arg-type]
    data = {length: examples(addition(length), 17 + 4 * length) for length in (2, 3)}
    return learner.fit(data, data, out=folder, resume=resume, observer=stop_at(stop))


def assert_shapes(out: Path) -> None:
    learner = several(out / "shapes")
    fabric = learner.fabric
    for name, value in learner.network.state_dict().items():
        everyone = fabric.all_gather(value)
        assert torch.equal(everyone[0], everyone[1]), name  # type: ignore[index]
    try:
        several(out / "shapes stopped", 12)
        raise AssertionError("it was not stopped")
    except Stop:
        fabric.barrier()
    several(out / "shapes stopped", resume=True)
    fabric.barrier()
    if fabric.is_global_zero:
        assert_same_run(out / "shapes stopped", out / "shapes")
        for part in learner.loop.parts:
            chains = chains_of(RunFolder.open(out / "shapes"), part.shape)
            assert chains is not None
            assert len(chains) == part.data.total
            assert part.task.feasible(chains[::2], part.y).all()
        assert learner.results_["I"]["symbol_accuracy"] > 0.5
        assert learner.results_["I"] == learner.evaluate(
            {p.shape: examples(p.task, p.data.total) for p in learner.loop.parts}
        )
    fabric.barrier()


def main(out: Path) -> None:
    learner = run(out / "whole")
    fabric = learner.fabric
    assert fabric.world_size == 2
    for name, value in learner.network.state_dict().items():
        everyone = fabric.all_gather(value)
        assert torch.equal(everyone[0], everyone[1]), name  # type: ignore[index]
    part, rank = learner.loop.parts[0], fabric.global_rank
    chains = memory_of(learner)["chains"]
    task, y = learner.task, part.y
    assert len(chains) == len(y) == len(part.data.answers) == len(part.data.inputs) == 33 - rank  # type: ignore[arg-type]
    assert part.data.at(torch.arange(2)).tolist() == [rank, rank + 2]
    assert task.feasible(chains, y).all()
    for stop in (3, 9, 20):  # in the first epoch, in the second, in Stage II
        folder = out / f"stopped at {stop}"
        try:
            run(folder, stop)
            raise AssertionError("it was not stopped")
        except Stop:
            fabric.barrier()
        run(folder, resume=True)
        fabric.barrier()
        if fabric.is_global_zero:
            assert_same_run(folder, out / "whole")
        fabric.barrier()
    try:
        run(out / "one", resume=True)  # which one process began
        raise AssertionError("it went on with two processes")
    except CheckpointError as error:
        assert "was trained by 1 process(es), and this is one of 2" in str(error), error  # noqa: PT017
    fabric.barrier()
    assert_examples_can_be_dropped(out)
    if fabric.is_global_zero:
        whole = chains_of(RunFolder.open(out / "whole"))
        assert whole is not None
        assert torch.equal(whole[::2], chains)
        left = left_behind(out / "whole")["tensors"]
        assert len(left["process 1: objective/0/chains"]) == 32
        assert not torch.equal(left["random/dice"], left["process 1: random/dice"])  # each process has its own stream
    assert_exact_runs_resume(out / "exact")
    assert_shapes(out)
    assert_the_law(out / "law")
    assert_all_end_together(out / "early")
    assert_accumulation_is_one_larger_batch()
    assert_each_reads_its_own_examples_only()
    assert_suspects_are_found_by_all()
    try:
        make_learner(task).fit(examples(task, 1))
        raise AssertionError("one example was enough for two processes")
    except DataError:
        pass
    (out / f"done {fabric.global_rank}").touch()


def and_more(folder: Path) -> Callable[[int], int]:
    """What a command's processes do before they part."""
    part: Callable[[int], int] = cli._part_company

    def last(code: int) -> int:
        main(folder)
        return part(code)

    return last


if __name__ == "__main__":
    with mock.patch.object(cli, "_part_company", and_more(Path(sys.argv[1]))):
        sys.exit(cli.main(sys.argv[2:]))
