"""An active joblib backend for other machines solves the queries; joblib's own backends leave them to the crew."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import joblib
import pytest
import torch
from joblib.parallel import BACKENDS, ThreadingBackend, register_parallel_backend

from softground.constraints.smt import SMT
from softground.inverses.z3 import Z3
from softground.projections import Dropped
from softground.solver import backend
from softground.solver.crew import CAN_FORK, Crew
from softground.solver.engine import FibreQuery, Limits, Reply
from softground.spaces import Categorical

if not CAN_FORK:
    pytest.skip("this system cannot fork", allow_module_level=True)

SPACE = Categorical([range(4)] * 3)


class Elsewhere(ThreadingBackend):  # type: ignore[misc]
    """A backend of threads, which says that it is not joblib's own."""

    chunks: list[int]

    def submit(self, func: Any, callback: Any = None) -> Any:
        self.chunks.append(len(func.items[0][1][2]))
        pickle.dumps(func.items[0][1][1:])  # limits and queries travel; the rule does by cloudpickle
        return super().submit(func, callback)


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Elsewhere]]:
    monkeypatch.setattr(Elsewhere, "chunks", [], raising=False)
    register_parallel_backend("elsewhere", Elsewhere)
    yield Elsewhere
    del BACKENDS["elsewhere"]


def weighted(z: list[Any], y: Any) -> Any:
    return z[0] + 2 * z[1] + 3 * z[2] == y


def asked(inverse: Z3) -> list[torch.Tensor]:
    """Fibres, first states and lists of a few answers."""
    y = inverse.rule.encode([0, 5, 9, 18])
    z = torch.tensor([[0, 0, 0], [2, 0, 1], [0, 3, 1], [3, 3, 3]])
    fibre, start = inverse.fibre(z, y, Dropped(torch.tensor([[0, 1]] * 4))), inverse.start(y, 0)
    lists = [states for states, _ in inverse.listed(y.tolist())]
    return [*vars(fibre).values(), *vars(start).values(), *lists]


def test_replies_are_those_of_this_process(elsewhere: type[Elsewhere]) -> None:
    rule = SMT(weighted, SPACE)
    expected = asked(Z3(rule, table=0))
    with joblib.parallel_config("elsewhere", n_jobs=2):
        assert backend.workers() == 2
        found = asked(Z3(rule, table=0))
    assert all(torch.equal(a, b) for a, b in zip(found, expected, strict=True))
    assert sum(elsewhere.chunks) == 4 + 4 + 4
    assert backend.workers() is None


@pytest.mark.parametrize("name", [None, "loky", "threading", "multiprocessing", "sequential"])
def test_joblibs_own_backends_change_nothing(name: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "solve", lambda *_: pytest.fail("the queries left the crew"))
    with joblib.parallel_config(**({"backend": name} if name else {})):
        assert backend.workers() is None
        asked(Z3(SMT(weighted, SPACE), table=0))


def test_a_worker_keeps_the_crews_of_a_few_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "_crews", {})
    monkeypatch.setattr(backend, "CREWS_KEPT", 2)
    rules, limits = [SMT(weighted, SPACE) for _ in range(3)], Limits(0, 10**6, 10.0)
    for rule in (*rules[:2], rules[0], rules[2]):
        assert backend.answer(rule, limits, [FibreQuery(5, (2, 0, 1), (0,), 8)]) == [Reply([(2,)], "whole")]
    assert [token for token, *_ in backend._crews] == [rules[0].token, rules[2].token]


def test_chunks_are_the_crews_or_four_a_worker(elsewhere: type[Elsewhere]) -> None:
    queries = [FibreQuery(5, (2, 0, 1), (0,), 8)] * 20
    with joblib.parallel_config("elsewhere", n_jobs=2):
        for chunk, sizes in ((None, [3] * 6 + [2]), (8, [8, 8, 4])):
            elsewhere.chunks.clear()
            crew = Crew(SMT(weighted, SPACE), Limits(0, 10**6, 10.0), chunk=chunk)
            assert backend.solve(crew, queries, 2) == [Reply([(2,)], "whole")] * 20
            assert elsewhere.chunks == sizes
