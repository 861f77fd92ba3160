"""Maps of symbols that fit what occurs: known counts, smallest label sets, brute force, bounds and errors."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations, product
from random import Random
from typing import Any

import pytest
import torch

import softground as sg
from inspection_cases import Unlisted, maps_of
from softground.errors import ConstraintError, SpaceError
from softground.inspection.map_search import ImageSearch, injections
from softground.inspection.maps import Consistent, MapSearch, consistent_maps, fewest_labels
from softground.inspection.show import settling
from softground.inspection.support import declared, everything
from softground.tasks import TASKS
from softground.tasks.kandinsky import COLOURS, DIFFER, SHAPES, KandLogic, follow
from softground.tasks.sudoku import sudoku_task
from softground.walks.solutions import take
from softground.walks.time_limit import TimeLimit

EVEN_ODD = [(0, 6), (1, 5), (2, 8), (4, 6), (3, 7), (1, 9), (4, 8), (3, 9)]
EVEN_ODD += [(b, a) for a, b in EVEN_ODD]
HALF = [(0, 0), (0, 1), (1, 0), (2, 3), (3, 2), (2, 4), (4, 2)]


def task_of(rule: Callable[..., object], symbols: int, sites: int = 2, head: str = "shared") -> sg.Task:
    space = sg.Categorical([range(symbols)] * sites, head)  # type: ignore[arg-type]
    return sg.Task(space, sg.Program(rule, space))


def figures(found: Consistent) -> tuple[int, int, int, int]:
    """All maps and one-to-one ones; on how many symbols they disagree."""
    every, one = found.every, found.one_to_one
    assert every.finished
    assert one.finished
    assert found.proved
    return every.count, one.count, len(every.disagree), len(one.disagree)


def labels(found: Consistent) -> tuple[tuple[int, int], tuple[int, int]]:
    """Size and number of the smallest label sets, for all maps and for one-to-one ones."""
    assert found.every.labels is not None
    assert found.one_to_one.labels is not None
    every, one = found.every.labels, found.one_to_one.labels
    return (every.fewest, every.sets), (one.fewest, one.sets)


def add(a: int, b: int) -> int:
    return a + b


def test_even_odd() -> None:
    found = maps_of(task_of(add, 10), EVEN_ODD, [6, 10, 12])
    assert figures(found) == (36, 2, 10, 10)
    assert labels(found) == ((2, 25), (1, 10))
    assert found.per_site is not None
    assert found.per_site.count == 6**4
    assert found.further is not None
    further = [(int(pair[1]), int(pair[4])) for pair in found.further]
    assert len(further) == 2
    assert figures(maps_of(task_of(add, 10), EVEN_ODD + further))[0] == 1


def test_what_even_odds_maps_are_worth() -> None:
    """How many digits a map leaves alone, how many it reads, and the sums of unseen pairs that it gets right."""
    task = task_of(add, 10)
    occurring = declared(task, EVEN_ODD, take(task, [6, 10, 12], 3, 0, TimeLimit()))
    maps = list(MapSearch(task, occurring, TimeLimit()).search(one_to_one=False).maps())
    unseen = [pair for pair in product(range(10), repeat=2) if pair not in EVEN_ODD]
    mixed = [pair for pair in unseen if sum(pair) % 2]

    def right(f: Sequence[int], pairs: Sequence[tuple[int, int]]) -> float:
        return round(100 * sum(f[a] + f[b] == a + b for a, b in pairs) / len(pairs), 1)

    assert Counter(sum(image == d for d, image in enumerate(f)) for f in maps) == {0: 25, 5: 10, 10: 1}
    assert Counter(len(set(f)) for f in maps) == {3: 2, 4: 6, 5: 10, 6: 2, 7: 4, 8: 6, 9: 4, 10: 2}
    assert Counter(right(f, unseen) for f in maps) == {9.5: 20, 40.5: 5, 25.0: 10, 100.0: 1}
    assert Counter(right(f, mixed) for f in maps) == {0.0: 30, 52.0: 5, 100.0: 1}
    assert right([(d + 5) % 10 for d in range(10)], unseen) == 40.5


def test_even_odd_without_an_upper_limit_has_the_published_49() -> None:
    """Digits may be read as any whole number: what 49 counts."""
    sites = sg.Categorical([range(16)] * 2)
    found = maps_of(sg.Task(sites, sg.Program(add, sites)), EVEN_ODD)
    assert found.every.count == 49


def test_even_odd_where_the_rule_knows_the_pairs() -> None:
    """S_y holds the 16 pairs alone, as in Soft-PNet."""
    known = set(EVEN_ODD)
    task = task_of(lambda a, b: a + b if (a, b) in known else None, 10)
    assert figures(maps_of(task, EVEN_ODD))[:2] == (4, 2)


@pytest.mark.parametrize(("outputs", "count", "per_site"), [(5, 3, 9), (10, 6, 36)])
def test_half(outputs: int, count: int, per_site: int) -> None:
    found = maps_of(task_of(add, outputs), HALF, [0, 1, 5, 6])
    assert figures(found) == (count, 1, 3, 0)
    assert labels(found) == ((1, 3), (0, 1))
    assert found.every.labels is not None
    assert found.every.labels.example == ("2",)
    assert found.per_site is not None
    assert found.per_site.count == per_site
    assert found.absent == tuple(map(str, range(5, outputs)))
    own = maps_of(task_of(add, outputs, head="site"), HALF)
    assert (own.every.count, own.per_site) == (per_site, None)


# All maps, one-to-one ones, and d of the latter; the sheet leaves the counts of all maps open from k = 5 on.
MODULO = {10: (2, 2, 10), 9: (4, 2, 2), 8: (20, 4, 4), 7: (64, 8, 6), 6: (320, 16, 8), 5: (1024, 32, 10)}
MODULO |= {4: (16848, 144, 10), 3: (186624, 864, 10), 2: (2 * 5**10, 28800, 10)}


@pytest.mark.parametrize("k", MODULO)
def test_sums_modulo_k(k: int) -> None:
    every, one, _, differ = figures(maps_of(task_of(lambda a, b: (a + b) % k, 10)))
    assert (every, one, differ) == MODULO[k]


@pytest.mark.parametrize(("ks", "expected"), [((2, 3), (320, 16, 8)), ((3, 4), (1, 1, 0))])
def test_sums_modulo_two_numbers(ks: tuple[int, int], expected: tuple[int, int, int]) -> None:
    every, one, _, differ = figures(maps_of(task_of(lambda a, b: ((a + b) % ks[0], (a + b) % ks[1]), 10)))
    assert (every, one, differ) == expected


def test_math() -> None:
    """Equal sums leave 9 − d, equal products 5 ↔ 7, both together nothing; nor do plain sums and products."""
    space = sg.Categorical([range(10)] * 4)

    def found(rule: Callable[..., object], answers: Sequence[object]) -> tuple[int, tuple[str, ...]]:
        task = sg.Task(space, sg.Program(rule, space, vectorised=True))
        full = everything(task, take(task, answers, 8, 0, TimeLimit()), 0)
        search = MapSearch(task, full, TimeLimit())
        assert full.whole
        return search.counted().count, search.examples()

    both = [(s, p) for s in (0, 1) for p in (0, 1)]
    assert found(lambda a, b, c, d: (a + b == c + d).long(), [0, 1])[0] == 2
    assert found(lambda a, b, c, d: (a * b == c * d).long(), [0, 1]) == (2, ("5 ↦ 7, 7 ↦ 5",))
    assert found(lambda a, b, c, d: ((a + b == c + d).long(), (a * b == c * d).long()), both) == (1, ())
    assert figures(maps_of(task_of(add, 10)))[:2] == (1, 1)
    assert figures(maps_of(task_of(lambda a, b: a * b, 10)))[:2] == (1, 1)


def test_math_as_in_its_example() -> None:
    """Digits 0 to 2, 2a + b and a + b, three combinations: one map with 3 outputs, and with 10."""
    for outputs in (3, 10):
        task = task_of(lambda a, b, c, d: (2 * a + b, c + d), outputs, 4)
        assert figures(maps_of(task, [(0, 1, 2, 0), (2, 1, 0, 1), (0, 0, 0, 2)], [(1, 2), (5, 1), (0, 2)]))[0] == 1


@pytest.mark.parametrize(("name", "counts"), [("evenodd", (36, 2)), ("half", (3, 1))])
def test_ready_made_tasks_say_what_occurs(name: str, counts: tuple[int, int]) -> None:
    problem = TASKS[name]()
    task = problem.task()
    assert isinstance(task, sg.Task)
    assert figures(maps_of(task, problem.support()))[:2] == counts


def test_kandinsky_figures() -> None:
    """Nine kinds of objects, 3¹⁸ scenes: proved between the renamings that the scan keeps and what few scenes leave."""
    task = KandLogic().task()
    assert isinstance(task, sg.Task)
    found = maps_of(task, None, [True, False])
    assert figures(found) == (72, 72, 9, 9)
    assert labels(found) == ((3, 72), (3, 72))


def test_kandinsky_figures_with_separate_heads() -> None:
    """Shapes are read as shapes and colours as colours: no swap of their roles, and two objects settle it.

    An object that differs from another in both attributes labels two shapes and two colours.
    """
    space = sg.Categorical([SHAPES, COLOURS] * 9)

    def step(state: Any, name: str, site: int) -> Any:
        own = site % 2
        after = list(state)
        after[own] = follow(state[own], (SHAPES, COLOURS)[own].index(name))
        return any(one != DIFFER for one in after) if site == 17 else tuple(after)

    task = sg.Task(space, sg.Scan(step, space, start=((0, ()), (0, ()))))
    found = maps_of(task, None, [True, False])
    assert figures(found) == (36, 36, 6, 6)
    assert labels(found) == ((4, 9), (4, 9))


@pytest.mark.parametrize(("symbols", "count"), [(10, 1)])
def test_addition_with_a_map_for_each_site(symbols: int, count: int) -> None:
    """f(a) + g(b) = a + b for all pairs leaves f(a) = a + c, g(b) = b − c, and no c but 0 keeps to the digits."""
    found = maps_of(task_of(add, symbols))
    assert found.per_site is not None
    assert (found.per_site.count, found.per_site.finished) == (count, True)
    own = maps_of(task_of(add, symbols, head="site"))
    assert figures(own)[:2] == (count, count)
    wider = maps_of(task_of(lambda a, b: (a + b) % symbols, symbols, head="site"))
    assert figures(wider)[0] == symbols  # modulo their number every c does


def test_sudoku() -> None:
    found = maps_of(sudoku_task(4), None, [True])
    assert figures(found) == (24, 24, 4, 4)
    assert labels(found) == ((3, 4), (3, 4))


def test_large_counts_need_no_listing() -> None:
    """Equality of two of twelve symbols: all 12! renamings, and none that merges."""
    found = maps_of(task_of(lambda a, b: a == b, 12))
    assert figures(found)[:2] == (479001600, 479001600)
    nothing = maps_of(task_of(lambda a, b: 0, 6))
    assert figures(nothing)[:2] == (6**6, 720)


def by_trying_all(task: sg.Task, rows: torch.Tensor, y: torch.Tensor) -> list[tuple[int, ...]]:
    symbols = rows.unique().tolist()
    found = []
    for images in product(range(task.space.width), repeat=len(symbols)):
        table = torch.zeros(task.space.width, dtype=torch.long)
        table[symbols] = torch.tensor(images)
        if bool(task.feasible(table[rows], y).all()):
            found.append(images)
    return found


@pytest.mark.parametrize("seed", range(8))
def test_random_rules_agree_with_brute_force(seed: int) -> None:
    """25 rules each: counts, disagreements and smallest label sets, as trying everything finds them."""
    draw = Random(seed)
    for _ in range(25):
        size, sites = draw.choice([(3, 2), (4, 2), (3, 3)])
        table = {z: draw.randrange(draw.choice([2, 3, 5])) for z in product(range(size), repeat=sites)}
        task = task_of(lambda *z, table=table: table[z], size, sites)
        occurring = draw.sample(sorted(table), draw.randrange(1, len(table)))
        given = declared(task, occurring, take(task, None, 8, 0, TimeLimit()))
        maps = by_trying_all(task, given.z, given.y)
        true = tuple(given.z.unique().tolist())
        found = MapSearch(task, given, TimeLimit()).found()
        for kind, expected in ((found.every, maps), (found.one_to_one, [f for f in maps if len(set(f)) == len(f)])):
            assert kind.finished
            assert kind.count == len(expected)
            differ = [s for s, images in zip(true, zip(*expected, strict=True), strict=True) if len(set(images)) > 1]
            assert kind.disagree == tuple(map(str, differ))
            settle = [
                [chosen for chosen in combinations(range(len(true)), many) if only(expected, true, chosen)]
                for many in range(len(true) + 1)
            ]
            fewest = next(many for many, sets in enumerate(settle) if sets)
            assert kind.labels is not None
            assert (kind.labels.fewest, kind.labels.sets) == (fewest, len(settle[fewest]))


def only(maps: list[tuple[int, ...]], true: tuple[int, ...], chosen: tuple[int, ...]) -> bool:
    return sum(all(f[i] == true[i] for i in chosen) for f in maps) == 1


def test_a_search_that_is_stopped_gives_a_bound_and_says_so() -> None:
    task = task_of(lambda a, b: (a - b) % 4 in (1, 2), 8)
    sample = take(task, None, 8, 0, TimeLimit())
    full = everything(task, sample, 0)
    exact = MapSearch(task, full, TimeLimit()).found()
    some = MapSearch(task, full, TimeLimit(), work=2**11).found()
    assert exact.every.finished
    assert not some.every.finished
    assert 1 <= some.every.count < exact.every.count
    assert some.every.labels is None
    assert not some.settled
    over = consistent_maps(task, full, TimeLimit(0))
    assert (over.every.count, over.every.finished) == (1, False)


@pytest.mark.parametrize("seed", range(4))
def test_maps_of_all_that_may_occur_are_taken_over_where_they_are_the_same(seed: int) -> None:
    """With the maps that fit all of S_y at hand nothing changes but the work."""
    draw = Random(seed)
    for _ in range(10):
        table = {z: draw.randrange(draw.choice([2, 3])) for z in product(range(3), repeat=3)}
        task = task_of(lambda *z, table=table: table[z], 3, 3)
        sample = take(task, None, 8, 0, TimeLimit())
        wide = consistent_maps(task, everything(task, sample, 0), TimeLimit())
        given = declared(task, draw.sample(sorted(table), draw.randrange(1, len(table))), sample)
        alone, beside = (consistent_maps(task, given, TimeLimit(), wide=each) for each in (None, wide))
        assert replace(beside, examples=alone.examples) == alone


def test_the_same_maps_are_searched_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def counted(search: ImageSearch, *given: Any) -> Any:
        asked.append(search)
        return fewest_labels(search, *given)

    monkeypatch.setattr("softground.inspection.maps.fewest_labels", counted)
    task = task_of(lambda a, b: (a + b) % 3, 3)
    found = sg.inspect(task, range(3), support=[(0, 1), (1, 1), (2, 1), (0, 2), (2, 2)])
    narrow, wide = found.maps
    assert narrow.every == wide.every
    assert len(asked) == 1  # all maps are one-to-one


def test_what_is_only_tried_is_not_proved() -> None:
    """Six digits modulo 3, where S_y is not listed. A scan proves what is left, a rule that is asked does not."""
    space = sg.Categorical([range(3)] * 6)
    asked, scan = sg.Program(lambda *z: sum(z) % 3, space, vectorised=True), sg.Scan(lambda s, d: (s + d) % 3, space)
    for rule in (asked, scan):
        found = maps_of(sg.Task(space, rule, Unlisted(sg.inverses.Enumeration(space, rule))), None, range(3))
        assert (found.every.count, found.one_to_one.count, found.proved) == (3, 3, rule is scan)
        assert ("1 label, and no fewer, leaves" if found.proved else "1 label, perhaps fewer, leaves") in settling(
            found
        )
        assert "of which" in found.assumption


def test_wrong_supports_are_named() -> None:
    task = task_of(lambda a, b: None if a > b else b - a, 4)
    sample = take(task, None, 8, 0, TimeLimit())
    with pytest.raises(SpaceError, match="State 1 has 7 at site 0"):
        declared(task, [(0, 1), (7, 1)], sample)
    with pytest.raises(SpaceError, match="Combination 1 has the code 4 at site 1"):
        declared(task, torch.tensor([[0, 1], [0, 4]]), sample)
    with pytest.raises(SpaceError, match="shape"):
        declared(task, torch.zeros(3, 5, dtype=torch.long), sample)
    with pytest.raises(ConstraintError, match=r"Combination 2, \(2, 1\), has no answer"):
        declared(task, [(0, 1), (1, 1), (2, 1)], sample)
    with pytest.raises(SpaceError, match="at least one"):
        declared(task, [], sample)
    data = sg.Examples(torch.zeros(3, 1), [1, 0, 2], symbols=torch.tensor([[0, 1], [1, 1], [0, 3]]))
    with pytest.raises(ConstraintError, match=r"Example 2: its symbols \(0, 3\) do not explain its answer 2"):
        declared(task, data, sample)


def test_data_with_known_symbols_are_a_support() -> None:
    """Rows that are known in full count; the others are left out."""
    task = task_of(add, 5)
    z = torch.tensor(HALF + HALF)
    seen = sg.Examples(torch.zeros(len(z), 1), z.sum(-1).tolist(), symbols=z)
    found = maps_of(task, seen)
    assert (found.combinations, figures(found)[:2]) == (7, (3, 1))
    assert found.assumption == "if only the 7 combinations in the training data occur"
    partly = torch.cat([z, torch.tensor([[3, -1]])])
    known = sg.Examples(torch.zeros(len(partly), 1), [*z.sum(-1).tolist(), 7], known=partly)
    assert maps_of(task, known).combinations == 7


def test_injections_are_those_of_brute_force() -> None:
    draw = Random(0)
    for _ in range(400):
        values, variables = draw.randrange(1, 7), draw.randrange(1, 5)
        domains = [draw.randrange(2**values) for _ in range(variables)]
        domains = draw.choice([domains, domains[:1] * variables])
        ways = product(*([v for v in range(values) if domain >> v & 1] for domain in domains))
        assert injections(domains) == sum(len(set(way)) == variables for way in ways)


def test_a_formula_is_inspected() -> None:
    """Odd parity of three bits: negating two variables keeps it, so four maps fit."""
    rows = list(product((1, -1), repeat=3))
    space = sg.Categorical([(False, True)] * 3, head="site")
    rule = sg.Cnf([[v * s for v, s in zip((1, 2, 3), row, strict=True)] for row in rows if math.prod(row) == 1], space)
    found = sg.inspect(sg.Task(rule.space, rule))
    assert found.maps[0].every.count == 4
