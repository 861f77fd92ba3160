"""The ladder: which way to S_y is taken, that it is exact, and what is kept of it."""

from __future__ import annotations

import json
import operator
import os
import time
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

import softground as sg
from softground.errors import ConstraintError, InverseError
from softground.inverses import RUNGS, Z3, Budget, GivesWay, Lists, Table, climb, solutions
from softground.inverses.base import start_given
from softground.inverses.ladder import ORDER, Cache, folder
from softground.inverses.lists import MOST_EACH
from softground.inverses.rungs import timed
from softground.inverses.solved import Solved
from softground.kernels import Exact
from softground.preparing import many, watched
from softground.target import Target

SPACE = sg.Categorical([range(10)] * 3)
MIXED: list[Any] = [("=", 13), ("<", 20), ("has", 7), None, sg.Not(("=", 13)), ("=", 99)]
HOLDS: dict[str, Callable[[Tensor, int], Tensor]] = {
    "=": lambda z, v: z.sum(1) == v,
    "<": lambda z, v: z.sum(1) < v,
    "has": lambda z, v: (z == v).any(1),
}


class Own(sg.constraints.Constraint):
    """A user's own constraint, whose encoded answers are pairs of numbers, negative ones among them."""

    space = SPACE

    def encode(self, answers: Sequence[Any]) -> Tensor:
        return torch.tensor([(list(HOLDS).index(kind), -value) for kind, value in answers])

    def feasible(self, z: Tensor, y: Tensor) -> Tensor:
        found = torch.zeros(len(z), dtype=torch.bool)
        for kind, value in torch.unique(y, dim=0).tolist():
            rows = (y == torch.tensor([kind, value])).all(1)
            found[rows] = list(HOLDS.values())[kind](z[rows], -value)
        return found

    def admissible(self, z: Tensor) -> Tensor:
        return torch.ones(len(z), dtype=torch.bool)

    def answer(self, y: Tensor) -> Any:
        return list(HOLDS)[int(y[0])], -int(y[1])


def in_z3(z: Any, y: Any) -> Any:
    import z3

    (kind, value), total = y, z3.Sum(z)
    return {"has": z3.Or(*[d == value for d in z]), "=": total == value, "<": total < value}[kind]


def in_cpmpy(z: Any, y: Any) -> Any:
    import cpmpy as cp

    (kind, value), total = y, cp.sum(z)
    return {"has": cp.any(z == value), "=": total == value, "<": total < value}[kind]


RULES: dict[str, tuple[Callable[[], Any], list[Any]]] = {
    "z3": (lambda: sg.SMT(in_z3, SPACE), MIXED),
    "cpmpy": (lambda: sg.CPMpy(in_cpmpy, SPACE), MIXED),
    "own": (Own, [answer for answer in MIXED if isinstance(answer, tuple)]),
}


def brute(answer: Any) -> Tensor:
    """S_y, by trying every state: ``[1000]``."""
    if answer is None:
        return torch.ones(SPACE.size, dtype=torch.bool)
    if isinstance(answer, sg.Not):
        return ~brute(answer.answer)
    return HOLDS[answer[0]](SPACE.states(torch.arange(SPACE.size)), answer[1])


@pytest.mark.parametrize("name", RULES)
def test_a_relation_with_few_states_gets_a_table_and_its_exact_law(name: str) -> None:
    make, answers = RULES[name]
    task = sg.Task(SPACE, make())
    assert not task.inverse.exact
    y = task.constraint.encode(answers)
    choice = task.settle(y)
    assert choice is not None
    assert (choice.rung, choice.refused) == ("table", ())
    assert task.inverse is choice.inverse
    assert isinstance(task.inverse, Lists)
    output = torch.randn(len(y), 3, 10, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    belief = SPACE.belief(output)
    everything = SPACE.states(torch.arange(SPACE.size))
    joint = torch.stack([belief.rows(torch.tensor([row] * SPACE.size)).log_prob(everything) for row in range(len(y))])
    inside = torch.stack([brute(answer) for answer in answers])
    mass = task.inverse.law(Target.at(belief, y, 1.0)).log_mass()
    torch.testing.assert_close(mass, joint.masked_fill(~inside, -torch.inf).logsumexp(1))
    for row, answer in enumerate(y):
        told = task.inverse.feasible(everything, answer.expand(SPACE.size, *answer.shape))
        assert torch.equal(told, inside[row])
    start = task.inverse.start(y, 0)
    assert start.found.tolist() == inside.any(1).tolist()
    assert bool(start.proved.all())
    assert bool(task.feasible(start.z[start.found], y[start.found]).all())


def test_lists_have_the_law_of_the_table() -> None:
    rule = sg.SMT(lambda z, y: z[0] + z[1] * z[2] == y, SPACE)
    table = Table(program := sg.Program(lambda a, b, c: a + b * c, SPACE))
    lists = Lists.of(sg.inverses.Z3(rule), rule.encode([12, 90]))
    weights = SPACE.belief(torch.randn(3, 3, 10, generator=torch.Generator().manual_seed(1), dtype=torch.float64))
    answers = [12, 90, 7]  # the last one was not listed before
    laws = [i.law(Target.at(weights, r.encode(answers), 0.5)) for i, r in ((table, program), (lists, rule))]
    for one, other in zip(*([law.log_mass(), law.marginals(), law.mode()] for law in laws), strict=True):
        torch.testing.assert_close(one, other)
    assert "3 answers" in repr(lists)


def test_first_states_are_uniform_on_each_list() -> None:
    rule, count = sg.SMT(in_z3, SPACE), 3000
    y = rule.encode([("=", 1), ("=", 26)] * count)  # three states each
    start = Lists.of(sg.inverses.Z3(rule), y).start(y, 0)
    assert bool((start.found & start.proved).all())
    for own in (start.z[::2], start.z[1::2]):
        states, often = torch.unique(SPACE.index(own), return_counts=True)  # type: ignore[no-untyped-call]
        assert len(states) == 3
        assert float((often - count / len(states)).abs().max()) < 5 * (count * 2 / 9) ** 0.5  # once in a million seeds


def test_large_lists_are_summed_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    rule = sg.SMT(in_z3, SPACE)
    lists, y = Lists.of(sg.inverses.Z3(rule), rule.encode(MIXED[:3])), rule.encode(MIXED[:3])
    target = Target.at(SPACE.belief(torch.randn(3, 3, 10, generator=torch.Generator().manual_seed(2))), y, 1.0)
    law, whole = lists.law(target), lists.law(target).marginals()
    monkeypatch.setattr("softground.inverses.sets.PART_STATES", 900)
    torch.testing.assert_close(law.marginals(), whole)
    ((_, of),) = law.of
    assert of.together() < len(of.which)


def grid(rows: int, columns: int) -> sg.CPMpy:
    """Sums of a grid's rows and columns."""
    import cpmpy as cp

    def rule(z: Any, y: Any) -> Any:
        cells = z.reshape(rows, columns)
        return [cp.sum(line) == total for line, total in zip([*cells, *cells.T], y, strict=True)]

    return sg.CPMpy(rule, sg.Categorical([range(10)] * (rows * columns)))


def test_a_large_space_is_listed_and_the_lists_are_kept(tmp_path: Path) -> None:
    answers = [(1, 2, 26, 9, 10, 10), (26, 26, 26, 26, 26, 26), (3, 0, 0, 1, 1, 1)]
    budget = Budget(cache=tmp_path)

    def settled() -> Lists:
        task = sg.Task((rule := grid(3, 3)).space, rule, budget=budget)
        choice = task.settle(rule.encode(answers))
        assert choice is not None
        assert choice.rung == "list"
        assert [name for name, _, _ in choice.refused] == ["table", "scan"]
        assert isinstance(choice.inverse, Lists)
        return choice.inverse

    first = settled()
    counts = solutions(first, first.constraint.encode(answers)).count.tolist()
    assert counts == [7, 6, 1]  # by hand: 3 + 2 + 2; permutations of what is missing; one
    kept = sorted(tmp_path.iterdir())
    assert len(kept) == 3
    moments = [path.stat().st_mtime_ns for path in kept]
    settled()
    assert [path.stat().st_mtime_ns for path in kept] == moments
    body = kept[0].read_bytes()
    kept[0].write_bytes(body[:-1] + bytes([body[-1] ^ 1]))
    kept[1].write_bytes(kept[2].read_bytes())
    kept[2].write_bytes(b"\x80\x04nothing")
    with pytest.warns(UserWarning, match="The list of solutions is made anew") as said:
        again = settled()
    texts = sorted(str(one.message).split("cannot be used: ")[1] for one in said)
    assert [text[:14] for text in texts] == ["it is damaged.", "it is not vali", "it is of anoth"]
    assert kept[0].read_bytes() == body
    assert solutions(again, again.constraint.encode(answers)).count.tolist() == counts
    settled()  # without a warning


def test_the_rung_of_a_run_is_taken_again_though_there_are_more_answers_now() -> None:
    rule = grid(3, 3)
    task = sg.Task(rule.space, rule, budget=Budget(solutions=2, cache=None))
    y = rule.encode([(1, 2, 26, 9, 10, 10), (26, 26, 26, 26, 26, 26)])
    choices = task.settle(y), task.settle(y, "list")  # one process has the answers of several
    assert [choice and choice.rung == "list" for choice in choices] == [False, True]


def test_several_write_and_read_one_list(tmp_path: Path) -> None:
    rule = grid(3, 3)
    y, index = rule.encode([(26,) * 6])[0], torch.arange(200_000)
    assert isinstance(rule.space, sg.Categorical)

    def write(_: int) -> bool:
        cache = Cache(rule, rule.space, tmp_path)
        cache.write(y, index)
        found = cache.read(y, len(index))
        return cache.place is not None and found is not None and torch.equal(found, index)

    with warnings.catch_warnings(), ThreadPoolExecutor(4) as several:
        warnings.simplefilter("error")
        assert all(several.map(write, range(40)))
    (path,) = tmp_path.iterdir()
    head, body = path.read_bytes().split(b"\n", 1)
    assert path.suffix == ".list"
    assert json.loads(head) == {"digest": path.stem, "sha256": sha256(body).hexdigest(), "states": len(index)}


def test_rules_that_share_a_folder_have_lists_of_their_own(tmp_path: Path) -> None:
    """The same answers under two rules, and one rule on two alphabets: each law is that of a plain count."""
    rules = {
        "sum": (lambda z, y: z[0] + z[1] == y, lambda a, b: a + b),
        "product": (lambda z, y: z[0] * z[1] == y, lambda a, b: a * b),
    }
    alphabets = [range(5), range(5)], [range(1, 6), range(5)]
    cases = [
        (Z3(sg.SMT(rule, sg.Categorical(each))), by_hand) for rule, by_hand in rules.values() for each in alphabets
    ]
    for again in (False, True):
        for inverse, by_hand in cases:
            rule, space = inverse.rule, inverse.space
            task = sg.Task(space, rule, budget=Budget(cache=tmp_path))
            task.settle(y := rule.encode([4, 6]), "list")
            states = space.states(torch.arange(space.size))
            says = [by_hand(*row) for row in space.decode(states)]
            law = task.inverse.law(Target.at(space.belief(torch.zeros(2, 2, space.outputs)), y, 1.0))
            count = [says.count(answer) for answer in (4, 6)]
            assert (law.log_mass().exp() * space.size).tolist() == pytest.approx(count)
        assert again or len(list(tmp_path.iterdir())) == 8


def test_lists_are_kept_where_the_environment_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("SOFTGROUND_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    for variable, value, place in (
        ("HOME", str(tmp_path / "home"), tmp_path / "home" / ".cache" / "softground"),
        ("XDG_CACHE_HOME", str(tmp_path), tmp_path / "softground"),
        ("SOFTGROUND_CACHE", "~/lists", tmp_path / "home" / "lists"),
        ("SOFTGROUND_CACHE", "off", None),
    ):
        monkeypatch.setenv(variable, value)
        assert folder() == place


def test_lists_begin_with_known_symbols() -> None:
    rule = sg.SMT(lambda z, y: z[0] * z[1] == y, sg.Categorical([range(10)] * 2))
    y = rule.encode([12, 12, 7])
    known = torch.tensor([[6, -1], [-1, 3], [1, -1]])
    for inverse in (Lists.of(Z3(rule), y), Z3(rule)):
        start = start_given(inverse, y, 0, known)
        assert start.z.tolist() == [[6, 2], [4, 3], [1, 7]]
        assert start.found.all()


def test_the_time_that_lists_take_is_told_after_the_first() -> None:
    said: list[str] = []
    with watched(said.append):
        parts: list[dict[Any, Any]] = [{1: []}, {2: []}, {3: []}]
        assert list(timed(iter(parts), 3, 60.0, "listing")) == parts
    assert said == ["Listing of 3 answers: about 1 s"]


def test_what_another_process_lists_meanwhile_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = [(1, 2, 26, 9, 10, 10), (26, 26, 26, 26, 26, 26), (3, 0, 0, 1, 1, 1)]
    asked, solve = list[int](), Solved.some_solutions

    def slower(self: Any, y: Any) -> Any:
        asked.append(len(y))
        if len(asked) == 1:  # while the first is solved here, another process lists them all
            lists(tmp_path)
        return solve(self, y)

    def lists(folder: Path) -> None:
        task = sg.Task((rule := grid(3, 3)).space, rule, budget=Budget(cache=folder))
        task.settle(rule.encode(answers))

    monkeypatch.setattr(Solved, "some_solutions", slower)
    lists(tmp_path)
    assert sum(asked) == 4  # the other process three, and this one only the first


def test_a_rung_that_is_too_dear_gives_way_and_what_it_found_stays() -> None:
    rule = grid(2, 3)
    answers = [(1, 0, 1, 0, 0), (13, 14, 9, 9, 9)]
    task = sg.Task(rule.space, rule, budget=Budget(solutions=20))
    choice = task.settle(y := rule.encode(answers))
    assert choice is not None
    assert choice.rung == "parts"
    why = {name: reason for name, reason, _ in choice.refused}
    assert "solutions" in why["list"]
    assert (*why, "parts", "chains") == ORDER
    assert not task.inverse.exact
    start = task.inverse.start(y, 0)
    assert bool(start.found.all())
    assert bool(task.feasible(start.z, y).all())
    assert start.z[0].tolist() == [1, 0, 0, 0, 0, 0]
    assert task.inverse is climb(task._way.first, y, Budget(), "chains").inverse


def test_a_slow_function_is_measured_before_it_is_tabulated() -> None:
    space = sg.Categorical([range(10)] * 8)
    calls = []

    def rule(*digits: int) -> int:
        calls.append(digits)
        return sum(digits)

    task = sg.Task(space, sg.Program(rule, space), budget=Budget(bytes=2**40, seconds=1.0))
    choice = task.settle(task.constraint.encode([3]))
    assert choice is not None
    assert choice.rung == "chains"
    assert "1.0e+08 states would take" in choice.refused[0][1]
    assert len(calls) < 1000
    few = climb(task.inverse, task.constraint.encode([3]), Budget(bytes=2**20))
    assert "more than 1.05 MB" in few.refused[0][1]


def test_a_slow_function_is_not_tabulated_when_its_task_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("softground.inverses.table.TABULATE_SECONDS", 0.5)
    calls = []

    def rule(*digits: int) -> int:
        calls.append(digits)
        time.sleep(0.001)
        return sum(digits)

    space = sg.Categorical([range(10)] * 3)
    task = sg.Task(space, sg.Program(rule, space), budget=Budget(seconds=0.5))
    assert not task.inverse.exact  # 1,000 states would take a second
    assert len(calls) <= 256
    y = task.constraint.encode([3])
    monkeypatch.setattr(task.inverse, "cap", 999)
    choice = climb(task.inverse, y, task.budget)
    (table, why, _), (scan, advice, _) = choice.refused[:2]
    assert (choice.rung, table, scan) == ("chains", "table", "scan")
    assert "1,000 states would take" in why
    assert "can be written as one" in advice
    monkeypatch.undo()  # first states would ask about all states, too, so that a table costs no more
    with pytest.warns(UserWarning, match=r"a table of its 1,000 states takes about 1 s"):
        settled = task.settle(y)
    assert settled is not None
    assert settled.rung == "table"
    assert len(calls) < 2500


def test_a_table_beyond_the_default_is_made_within_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("softground.inverses.table.TABULATE_PLAIN", 10)
    task = sg.Task(SPACE, sg.Program(lambda a, b, c: a + b + c, SPACE))
    assert not task.inverse.exact
    choice = task.settle(task.constraint.encode([3]))
    assert choice is not None
    assert isinstance(choice.inverse, Table)


@pytest.mark.parametrize(
    ("task", "rung"),
    [
        (sg.Task(SPACE, sg.Program(lambda a, b, c: a + b + c, SPACE)), "table"),
        (sg.Task(SPACE, sg.Scan(lambda total, digit: total + digit, SPACE)), "scan"),
    ],
)
def test_a_rule_that_knows_its_law_keeps_its_inverse(task: sg.Task, rung: str) -> None:
    own = task.inverse
    choice = task.settle(task.constraint.encode([3]))
    assert choice is not None
    assert choice.rung == rung
    assert task.inverse is own


def test_a_function_that_is_no_rule_yet_is_refused() -> None:
    with pytest.raises(sg.SoftgroundError, match=r"was given as a rule; expected a constraint: Program\(function"):
        sg.Task(SPACE, lambda a, b, c: a + b + c)  # type: ignore[arg-type]


def test_an_inverse_that_was_given_decides() -> None:
    given = sg.inverses.Z3(sg.SMT(in_z3, SPACE))
    task = sg.Task(SPACE, given.constraint, given)
    assert task.settle(task.constraint.encode(MIXED[:2])) is None
    assert task.inverse is given


def test_a_rung_taken_before_is_taken_again_whatever_it_costs() -> None:
    rule = sg.SMT(in_z3, SPACE)
    base, y = sg.inverses.Z3(rule), rule.encode(MIXED[:3])
    assert climb(base, y, Budget(seconds=0.0), "table").rung == "table"
    assert climb(base, y, Budget(), "chains").inverse is base
    with pytest.raises(InverseError, match="the inverse 'scan', which does not serve here: the rule is no Scan"):
        climb(base, y, Budget(), "scan")


def test_a_rung_is_one_more_registration(monkeypatch: pytest.MonkeyPatch) -> None:
    rule = sg.SMT(in_z3, SPACE)
    listed = Lists.of(sg.inverses.Z3(rule), y := rule.encode(MIXED[:3]))
    monkeypatch.setitem(RUNGS, "circuit", lambda ask: (listed, "compiled"))
    for name in ("table", "list"):
        monkeypatch.setitem(RUNGS, name, refuse)
    choice = climb(sg.inverses.Z3(rule), y, Budget())
    no = "not table: not today", "not scan: the rule is no Scan", "not list: not today"
    assert str(choice) == "\n  ".join(["circuit: compiled", *no])
    assert json.loads(json.dumps(choice.to_json()))["refused"][0] == {
        "rung": "table",
        "reason": "not today",
        "seconds": 0.0,
    }


def refuse(ask: Any) -> Any:
    raise GivesWay("not today")


def test_dense_answers_are_left_to_chains(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("softground.inverses.rungs.MOST_EACH", 500)
    assert MOST_EACH > 500
    choice = climb(sg.Task(SPACE, rule := Own()).inverse, rule.encode([("<", 20)]), Budget())
    assert choice.rung == "chains"
    assert "an answer has 880 solutions" in choice.refused[0][1]


def test_bad_budgets_are_refused() -> None:
    with pytest.raises(InverseError, match="solutions=-1 was given as a budget"):
        Budget(solutions=-1)


def test_a_learner_without_a_kernel_takes_the_law() -> None:
    task = sg.Task(SPACE, sg.SMT(in_z3, SPACE))
    stages = sg.grounding_stages(task, epochs=1)
    pairs = torch.randint(10, (8, 3), generator=torch.Generator().manual_seed(0))
    data = sg.Examples(torch.eye(10)[pairs], [("=", sum(row)) for row in pairs.tolist()])
    learner = sg.Learner(task, torch.nn.Linear(10, 10), stages).fit(data)
    objective: Any = learner.stages[0].objective
    assert isinstance(objective.kernel, Exact)
    assert objective.kernel.inverse is task.inverse
    assert learner.choice_["task"]["rung"] == "table"
    with pytest.raises(ConstraintError, match="checks answers"):
        task.compute(pairs[:1])


def test_many_answers_are_listed_by_all_processors_under_the_same_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    rule, asked = sg.SMT(lambda z, y: z[0] + z[1] + z[2] == y, SPACE), list[tuple[Any, ...]]()
    made = sg.inverses.Z3.lister

    def lister(self: sg.inverses.Z3, *limits: Any) -> Any:
        asked.append(limits)
        return made(self, *limits[:2], 1)

    monkeypatch.setattr(sg.inverses.Z3, "lister", lister)
    choice = sg.Task(SPACE, rule, budget=Budget(cache=None)).settle(rule.encode(list(range(28))), "list")
    assert choice is not None
    assert choice.reason == "1,000 solutions of 28 answers, proved to be all"
    (most, seconds, one), (same, alike, several) = asked
    assert (most, one, several) == (MOST_EACH, 1, os.cpu_count())
    assert (same, alike) == (most, seconds)


def test_counts_are_written_as_people_write_them() -> None:
    assert [many(count) for count in (1234, 10**7 - 1, 10**7)] == ["1,234", "9,999,999", "1.0e+07"]


def test_more_states_than_a_float_can_count() -> None:
    """400 digits: the ladder, what is printed and an inspection."""
    space = sg.Categorical([range(10)] * 400)
    assert repr(space) == "Categorical(400 sites, 10 symbols, 1.0e+400 states)"
    task = sg.Task(space, sg.All([sg.Sum(range(200)), sg.Sum(range(200, 400))], space))
    choice = task.settle(task.constraint.encode([(900, 870)]))
    assert choice is not None
    assert choice.rung == "parts"
    assert "1.0e+400 states, tried for 1 answers, are too many" in str(choice)
    program = sg.Task(space, sg.Program(lambda *z: sum(z), space))
    found = program.settle(program.constraint.encode([1800]))
    assert found is not None
    assert "1.0e+400 states take 2.72e+390 TB" in str(found)


def test_a_long_sum_is_inspected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("softground.inspection.inspection.ranking", lambda *given: [])
    space = sg.Categorical([range(2)] * 1_100)
    found = sg.inspect(sg.Task(space, sg.Scan(operator.add, space)), [550], seconds=0.1)
    assert "1100 sites, 2 symbols, more than 1e308 states" in " ".join(str(found).split())
    json.loads(found.to_json())
