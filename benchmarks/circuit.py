"""Compiled formulas: training pairs a second, against KLay on the same circuit and the same network.

    python benchmarks/circuit.py [--quick] [--devices cpu cuda] [--compile 6000]

A pair is an example: 64 numbers for each variable, and that the formula holds. A step reads a batch of them with one
small network for all sites, takes the formula's exact −log probability as the loss, and goes back to the network's
weights. Both libraries evaluate the very same SDD, in single precision and in the log domain, and must agree on losses
and gradients before anything is timed. KLay's module runs as it is and, for circuits of at most ``--compile`` elements,
also through ``torch.compile``, its default, which takes minutes. Needs ``klaycircuits`` beside PySDD.

- ``3-CNF``: random clauses of three; - ``Sudoku``: 4×4, one variable for each cell and digit; - ``permutations``: one
variable for each pair, exactly one true in each row and column.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from importlib import metadata
from typing import Any

import torch
from measure import destination, interleaved, options, record
from torch import Tensor, nn

from softground import Cnf
from softground.inverses import Circuit
from softground.inverses.circuit.inverse import Nodes
from softground.target import Target

FEATURES, HIDDEN = 64, 32
Step = Callable[[], Tensor]


def three(variables: int, clauses: int, seed: int) -> list[list[int]]:
    """Random clauses of three literals."""
    rng = random.Random(seed)
    picks = [rng.sample(range(1, variables + 1), 3) for _ in range(clauses)]
    return [[v if rng.random() < 0.5 else -v for v in pick] for pick in picks]


def exactly_one(group: list[int]) -> list[list[int]]:
    """One of the variables is true and no two are."""
    return [group, *([-a, -b] for a, b in itertools.combinations(group, 2))]


def permutations(size: int) -> list[list[int]]:
    """A permutation matrix."""
    rows = [[size * r + c + 1 for c in range(size)] for r in range(size)]
    return [clause for group in [*rows, *zip(*rows, strict=True)] for clause in exactly_one(list(group))]


def sudoku() -> list[list[int]]:
    """A 4×4 board: in each cell one digit, in each row, column and square each digit once."""
    cells = list(itertools.product(range(4), repeat=2))
    groups = [[(r, c, d) for d in range(4)] for r, c in cells]
    for d, at in itertools.product(range(4), repeat=2):
        squares = [(r, c, d) for r, c in cells if 2 * (r // 2) + c // 2 == at]
        groups += [[(at, c, d) for c in range(4)], [(r, at, d) for r in range(4)], squares]
    return [clause for group in groups for clause in exactly_one([16 * r + 4 * c + d + 1 for r, c, d in group])]


def cases(quick: bool) -> dict[str, Cnf]:
    """The formulas."""
    if quick:
        return {"3-CNF, 12 variables": Cnf(three(12, 24, 0))}
    found = {f"3-CNF, {n} variables": three(n, 2 * n, seed) for n, seed in ((30, 0), (36, 1))}
    return {
        name: Cnf(rule) for name, rule in {**found, "permutations of 7": permutations(7), "Sudoku": sudoku()}.items()
    }


def klay_module(nodes: Nodes, compiled: bool) -> Any:
    """The same circuit in KLay."""
    import klay

    made: Any = klay.Circuit()
    known = [made.literal_node(v if true else -v) for v in range(1, nodes.variables + 1) for true in (False, True)]
    known += [made.true_node(), made.false_node()]
    for pairs in torch.split(nodes.elements, nodes.arity.tolist()):
        known.append(made.or_node([made.and_node([known[p], known[s]]) for p, s in pairs.tolist()]))
    made.set_root(known[nodes.root])
    made.remove_unused_nodes()
    return made.to_torch_module(semiring="log", compile=compiled)


def steps(
    rule: Cnf, circuit: Circuit, batch: int, device: str, seed: int, compiled: bool
) -> tuple[nn.Module, dict[str, Step]]:
    """The network, and one training step by each library; a step leaves the gradients and gives the losses."""
    torch.manual_seed(seed)
    network = nn.Sequential(nn.Linear(FEATURES, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, 2)).to(device)
    inputs = torch.randn(batch, rule.space.sites, FEATURES, device=device)
    y = rule.encode([True] * batch).to(device)

    def ours() -> Tensor:
        return -circuit.law(Target(rule.space.belief(network(inputs)), y, 1.0)).log_mass()

    def theirs(module: Any) -> Tensor:
        readings = network(inputs).log_softmax(-1)
        return -module(readings[..., 1], readings[..., 0]).flatten()

    def step(losses: Step) -> Step:
        def run() -> Tensor:
            network.zero_grad()
            found = losses()
            found.mean().backward()
            return found.detach()

        return run

    ways = {"ours": step(ours)}
    for name in ("klay", *(["klay compiled"] if compiled else [])):
        module = klay_module(circuit.levels[0].nodes, name != "klay").to(device)
        ways[name] = step(lambda module=module: theirs(module))  # type: ignore[misc]
    return network, ways


def check(network: nn.Module, ways: dict[str, Step]) -> None:
    """All ways have the same losses and gradients."""
    wanted, gradient = None, []
    for name, step in ways.items():
        found, own = step(), [parameter.grad for parameter in network.parameters()]
        if wanted is None:
            wanted, gradient = found, own
        assert torch.allclose(found, wanted, rtol=1e-4), f"{name}: losses differ"
        assert all(torch.allclose(a, b, atol=1e-4) for a, b in zip(own, gradient, strict=True)), (
            f"{name}: gradients differ"
        )


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--compile", type=int, default=0, help="most elements of circuits that KLay compiles, too")
    parser.add_argument("--batches", type=int, nargs="+", default=[64, 512], help="examples of a step")
    given = parser.parse_args()
    circuits = {name: Circuit(rule, seconds=600.0) for name, rule in cases(given.quick).items()}
    versions = {package: metadata.version(package) for package in ("klaycircuits", "PySDD")}
    for device in given.devices:
        figures: dict[str, Any] = {}
        for name, circuit in circuits.items():
            nodes = circuit.levels[0].nodes
            figures[name] = {"nodes": len(nodes.arity), "elements": len(nodes.elements)}
            for batch in given.batches[: 1 if given.quick else None]:
                network, ways = steps(
                    circuit.constraint, circuit, batch, device, given.seed, len(nodes.elements) <= given.compile
                )
                check(network, ways)
                turns = interleaved(ways, 3 if given.quick else 15, 2, device)
                pairs = {way: batch / seconds["median"] for way, seconds in turns["seconds"].items()}
                figures[name][f"batch {batch}"] = {device: {"pairs_per_second": pairs, "times_klay": turns["ratio"]}}
                told = {way: f"{ratio['median']:.2f}" for way, ratio in turns["ratio"].items()}
                print(f"{device}, {name}, batch {batch}: times as fast as {told}", flush=True)
        page = {"figures": figures, "peer": versions}
        record("circuit", page, seed=given.seed, device=device, folder=destination(given))


if __name__ == "__main__":
    main()
