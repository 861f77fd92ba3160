"""The schedules give the paper's formulas, cool monotonically, respect floor and warm-up, refuse nonsense."""

from __future__ import annotations

import dataclasses
import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from papers.li2023.baselines import CodeLinear, CodeLogarithmic
from softground.errors import ScheduleError, SoftgroundError
from softground.schedules import SCHEDULES, Constant, Exponential, Linear, Logarithmic, Schedule
from softground.tasks import Sudoku

ALL = [Logarithmic, Exponential, Linear, Constant, CodeLogarithmic, CodeLinear]


def test_logarithmic_is_the_papers_formula_from_the_second_pass_on() -> None:
    schedule = Logarithmic(start=2.0, floor=0.0)
    assert schedule.gamma(0) == 2.0
    for t in range(1, 200):
        assert schedule.gamma(t) == pytest.approx(2.0 / math.log(1 + (t + 1)), rel=1e-15)


def test_exponential_formula() -> None:
    assert [Exponential(1.5, 0.9, 0.0).gamma(t) for t in range(5)] == [1.5 * 0.9**t for t in range(5)]


def test_linear_formula() -> None:
    assert [Linear(1.0, 0.125, 0.0).gamma(t) for t in range(10)] == [max(0.0, 1.0 - 0.125 * t) for t in range(10)]


def updated(strategy: str, passes: int, *, start: float, floor: float, fall: float, counted: bool) -> list[float]:
    """γ in each cooled pass as the authors' loop makes it, update by update."""
    gammas, gamma, t = [], start, 1
    for _ in range(passes):
        gammas.append(gamma)
        if strategy == "log-code":
            gamma = start / math.log(1 + t)
        else:
            gamma = gamma * 0.95 if strategy == "exp-code" else gamma - fall / math.sqrt(t)
        t += counted or strategy == "log-code"
        gamma = max(floor, gamma)
    return gammas


@pytest.mark.parametrize("name", ["exp-code", "log-code", "linear-code"])
def test_the_codes_schedules_are_its_updates(name: str) -> None:
    """Formulas: γ₀ = 1, floor 0.01, 0.05/√t; all of it times seven for the sum over sites."""
    schedule = SCHEDULES[name](7.0, 0.07, 11, 109)
    theirs = updated(name, 98, start=7.0, floor=0.07, fall=7 * 0.05, counted=True)
    assert [schedule.gamma(t) for t in range(11, 109)] == pytest.approx(theirs, rel=1e-12)
    assert schedule.gamma(10) == math.inf


@pytest.mark.parametrize(("name", "cold"), [("exp-code", 32), ("log-code", None), ("linear-code", 8)])
def test_the_codes_schedules_on_sudoku(name: str, cold: int | None) -> None:
    """γ₀ = 0.1, floor 0.02, and a linear fall by 0.01 that is never counted: the floor after 32 and 8 passes."""
    problem = Sudoku()
    schedule: Schedule = problem.schedule(problem.recipe("paper", schedule=name, warmup=11, epochs=109))
    ours = [schedule.gamma(t) for t in range(11, 109)]
    theirs = updated(name, 98, start=0.1, floor=0.02, fall=0.01, counted=False)
    assert ours == pytest.approx([16 * gamma for gamma in theirs], rel=1e-12)
    assert [t for t, gamma in enumerate(ours) if gamma < 0.3201][:1] == ([] if cold is None else [cold])


def test_constant_formula() -> None:
    assert {Constant(0.001).gamma(t) for t in range(100)} == {0.001}


@given(
    name=st.sampled_from([name for name in SCHEDULES if name != "auto"]),  # which a learner decides
    start=st.floats(1e-3, 1e3),
    share=st.floats(0, 1),
    warmup=st.integers(0, 5),
    epochs=st.integers(1, 60),
)
def test_every_schedule_warms_up_starts_at_start_falls_and_stops_at_the_floor(
    name: str, start: float, share: float, warmup: int, epochs: int
) -> None:
    floor = start * share
    schedule = SCHEDULES[name](start, floor, warmup, epochs)
    gammas = [schedule.gamma(t) for t in range(warmup + epochs + 1)]
    assert all(gamma == math.inf for gamma in gammas[:warmup])
    cooling = gammas[warmup:]
    assert cooling[0] == start
    falling = cooling[1:] if name == "log-code" else cooling  # which rises once
    assert all(earlier >= later for earlier, later in pairwise(falling))
    assert min(cooling) >= (0 if name == "constant" else floor)


@pytest.mark.parametrize("name", ["exp", "linear"])
def test_floor_is_reached(name: str) -> None:
    assert SCHEDULES[name](1.0, 0.05, 0, 20).gamma(10_000) == 0.05


@pytest.mark.parametrize(("warmup", "epochs"), [(0, 2), (0, 100), (10, 100), (3, 7)])
def test_linear_by_name_reaches_the_floor_in_the_last_pass(warmup: int, epochs: int) -> None:
    schedule = SCHEDULES["linear"](1.0, 0.02, warmup, epochs)
    assert schedule.gamma(epochs - 1) == pytest.approx(0.02)
    assert schedule.gamma(epochs - 2) > 0.0201


@pytest.mark.parametrize("epochs", [1, 5])
def test_linear_by_name_with_no_pass_left_to_cool(epochs: int) -> None:
    assert SCHEDULES["linear"](1.0, 0.02, 5, epochs).gamma(5) == 1.0


def test_by_name_makes_what_it_says() -> None:
    assert SCHEDULES["log"](2.0, 0.1, 3, 9) == Logarithmic(2.0, 0.1, 3)
    assert SCHEDULES["exp"](2.0, 0.1, 3, 9) == Exponential(2.0, 0.95, 0.1, 3)
    assert SCHEDULES["constant"](0.001, 0.02, 3, 9) == Constant(0.001, warmup=3)


@pytest.mark.parametrize(("warmup", "epochs", "passes"), [(0, 2, 1), (10, 110, 99), (3, 5, 1), (3, 4, 1), (3, 3, 1)])
def test_an_exponential_that_reaches_its_floor_in_the_last_pass(warmup: int, epochs: int, passes: int) -> None:
    schedule = Exponential.reaching(1.6, 0.32, warmup, epochs)
    assert (schedule.start, schedule.floor, schedule.warmup) == (1.6, 0.32, warmup)
    assert schedule.alpha**passes == pytest.approx(0.2)
    assert schedule.gamma(warmup + passes) == pytest.approx(0.32)
    assert schedule.gamma(warmup) == 1.6


def test_it_cools_a_little_even_where_the_floor_is_the_start() -> None:
    assert Exponential.reaching(1.0, 1.0, 0, 11).alpha == pytest.approx(0.95**0.1)
    assert Exponential.reaching(1.0, 0.97, 0, 11).alpha == pytest.approx(0.95**0.1)


def test_a_factor_never_reaches_zero() -> None:
    with pytest.raises(ScheduleError, match=r"floor = 0.*Try 0\.04"):
        Exponential.reaching(2.0, 0.0, 0, 10)
    for wrong in ((-1.0, 0.1, 0), (0.0, 0.1, 0), (1.0, 2.0, 0), (1.0, 0.1, -1)):
        with pytest.raises(ScheduleError):
            Exponential.reaching(*wrong, 10)


@pytest.mark.parametrize("make", ALL)
@pytest.mark.parametrize(
    "wrong",
    [
        {"start": 0.0},
        {"start": -1.0},
        {"start": math.inf},
        {"start": math.nan},
        {"floor": -0.1},
        {"floor": 1.5},
        {"floor": math.nan},
        {"warmup": -1},
    ],
    ids=str,
)
def test_impossible_parameters_are_refused_by_name(make: type, wrong: dict[str, float]) -> None:
    with pytest.raises(ScheduleError, match=next(iter(wrong))):
        make(**wrong)


@pytest.mark.parametrize("alpha", [0.0, 1.0, -0.5, 2.0, math.nan])
def test_exponential_refuses_alpha(alpha: float) -> None:
    with pytest.raises(ScheduleError, match="alpha"):
        Exponential(alpha=alpha)


@pytest.mark.parametrize("alpha", [-0.5, math.inf, math.nan])
def test_linear_refuses_alpha(alpha: float) -> None:
    with pytest.raises(ScheduleError, match="alpha"):
        Linear(alpha=alpha)
    assert Linear(alpha=0.0).gamma(1000) == Linear().start  # no cooling is a choice


@pytest.mark.parametrize("make", ALL)
def test_the_edges_of_what_is_possible_are_allowed(make: type) -> None:
    schedule = make(start=1.0, floor=1.0, warmup=1)
    assert [schedule.gamma(t) for t in range(2)] == [math.inf, 1.0]
    assert make(start=1.0, floor=0.0, warmup=0).gamma(0) == 1.0


@pytest.mark.parametrize("make", ALL)
def test_negative_time_is_refused(make: type) -> None:
    with pytest.raises(ScheduleError, match="t = -1"):
        make().gamma(-1)


def test_by_name_refuses_what_it_does_not_know() -> None:
    with pytest.raises(SoftgroundError, match=r"no schedule 'cosine'; there is .*'exp'"):
        SCHEDULES["cosine"]


@pytest.mark.parametrize("make", ALL)
def test_schedules_are_frozen(make: type) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        make().start = 2.0


@pytest.mark.parametrize(("start", "warmup"), [(2.0, 0), (1.0, 3)])
def test_auto_drops_no_setting_silently(start: float, warmup: int) -> None:
    with pytest.raises(SoftgroundError, match="no γ and no warm-up"):
        SCHEDULES["auto"](start, 0.02, warmup, 10)
