"""What test_distributed.py starts in several processes: whole and interrupted runs, compared by process 0."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import torch

from learner_cases import adam, addition, assert_same_run, classifier, examples, kernel, make_learner
from softground import Exponential, Learner, SoftenedGrounding, Stage, ZeroDegree
from softground.errors import DataError
from softground.runs import RunFolder

COUNT = 65  # one process owns 33, the other 32: at 16 a batch it must repeat an example to keep step


class Stop(Exception):
    pass


def run(folder: Path, stop: int = 0, resume: bool = False) -> Learner:
    task = addition()
    grounding = SoftenedGrounding(kernel("guided", task), Exponential(1.0, 0.9), steps=4)
    stages = [Stage("I", grounding, 4, adam, keep="best"), Stage("II", ZeroDegree(), 1, adam)]
    events = 0

    def observer(event: str, facts: dict[str, Any]) -> None:
        nonlocal events
        events += 1
        if events == stop:
            raise Stop

    learner = make_learner(task, stages, classifier(dropout=0.1), batch_size=32)
    return learner.fit(examples(task, COUNT), examples(task, 40, seed=1), out=folder, resume=resume, observer=observer)


def main(out: Path) -> None:
    learner = run(out / "whole")
    fabric = learner.fabric
    assert fabric.world_size == 2
    for name, value in learner.network.state_dict().items():
        everyone = fabric.all_gather(value)
        assert torch.equal(everyone[0], everyone[1]), name  # type: ignore[index]
    own = learner.loop.own
    chains = learner.stages[0].objective.state()["chains"]
    task, y = learner.task, learner.loop.y
    assert task.feasible(chains[own], y[own]).all()
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
    if fabric.is_global_zero:
        tensors, _ = RunFolder.open(out / "whole").load_checkpoint()
        assert task.feasible(tensors["objective/0/chains"], y).all()
        assert torch.equal(tensors["objective/0/chains"][own], chains[own])
        assert tensors["random/dice"].shape[0] == 2
        assert not torch.equal(*tensors["random/dice"])  # each process has its own stream
    try:
        make_learner(task).fit(examples(task, 1))
        raise AssertionError("one example was enough for two processes")
    except DataError:
        pass
    (out / f"done {fabric.global_rank}").touch()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
