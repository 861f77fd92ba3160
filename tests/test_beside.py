"""What is put beside: done in turn where nothing is recorded, and watched on a CPU where something would be."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import pytest
import torch

from branches import watched
from softground.beside import Branch, beside, branching, caught_up


def test_without_a_recording_everything_is_done_in_turn() -> None:
    with beside():
        made = torch.ones(3)
    caught_up()
    assert (made + 1).tolist() == [2.0, 2.0, 2.0]


def test_reading_a_branch_too_early_is_noticed() -> None:
    with watched() as branch:
        with beside():
            made = torch.ones(100)
        made + 1
    assert any("reads what the branch has made" in fault for fault in branch.faults)


def test_a_branch_may_be_read_by_itself_and_once_it_is_caught_up_with() -> None:
    with watched() as branch:
        x = torch.arange(100.0)
        with beside(x):
            made = x + 1
        with beside():
            more = made * 2
            with beside():
                more = more + 1
        caught_up()
        total = more.sum()
    assert not branch.faults
    assert branch.entries == 2
    assert float(total) == float((2 * torch.arange(100.0) + 3).sum())


@pytest.mark.parametrize("kept", [True, False])
def test_memory_that_a_branch_still_reads_is_kept(kept: bool) -> None:
    with watched() as branch:
        for _ in range(20):
            x = torch.rand(4099)
            with beside(*([x] if kept else [])):
                x.sum()
            del x
            others: list[Any] = [torch.rand(4099) for _ in range(4)]
            del others
    assert bool(branch.faults) != kept


@pytest.mark.parametrize("after", [None, "draws"])
def test_a_lane_reads_another_only_after_it(after: Any) -> None:
    with watched() as branch:
        with beside():
            drawn = torch.ones(100)
        with beside(lane="books"):
            torch.ones(50).sum()
        with beside(drawn, lane="books", after=after):
            drawn.sum()
    assert branch.entries == 3
    assert bool(branch.faults) is (after is None)


def test_what_a_lane_makes_after_it_was_waited_for_is_not_read() -> None:
    with watched() as branch:
        with beside():
            pass
        with beside(lane="books", after="draws"):
            pass
        with beside():
            drawn = torch.ones(100)
        with beside(drawn, lane="books"):
            drawn.sum()
    assert any("reads what the branch has made" in fault for fault in branch.faults)


def test_on_a_gpu_a_lane_waits_for_what_came_before_and_for_the_lane_it_follows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Stream:
        def __init__(self, name: str = "lane") -> None:
            self.name, self.waited = name, list[Stream]()

        def wait_stream(self, other: Stream) -> None:
            self.waited.append(other)

    main, made = Stream("main"), list[Stream]()
    monkeypatch.setattr(torch.cuda, "current_stream", lambda: main)
    monkeypatch.setattr(torch.cuda, "Stream", lambda: made.append(Stream()) or made[-1])
    monkeypatch.setattr(torch.cuda, "stream", nullcontext)
    with branching(Branch()):
        with beside(lane="books", after="draws"):  # nothing is drawn yet
            pass
        with beside():
            pass
        with beside(lane="books", after="draws"):
            pass
        caught_up()
        assert main.waited == made
    books, draws = made
    assert books.waited == [main, main, draws]
    assert draws.waited == [main]
    assert main.waited == [*made, *made]
