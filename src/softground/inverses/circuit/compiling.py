"""From clauses to a circuit: the compiler's process, its limits, and the file it leaves."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from ...constraints.cnf import Cnf
from ...errors import InverseError
from ...optional import load
from . import sdd

NODES = 100_000  # elements of a diagram: 64 examples then take some 50 MB
SECONDS = 60.0


@dataclass(frozen=True, eq=False)
class Nodes:
    """A circuit's nodes, numbered so that children come first.

    Node i < 2n is a literal: variable i // 2, true where i is odd. Node 2n is 'true', 2n + 1 is 'false', and every
    other one an OR of ANDs of two nodes each: node 2n + 2 + d of the ``arity[d]`` rows of ``elements`` that it owns.
    ``place[d]`` is where the circuit divides the variables: a way down from the root meets one node of each place at
    most, and places in rising order.
    """

    variables: int
    arity: Tensor  # [decisions]
    place: Tensor  # [decisions]
    elements: Tensor  # [elements, 2]
    root: int

    @classmethod
    def read(cls, text: str, vtree: str, variables: int) -> Nodes:
        """A circuit in the text formats of the SDD package: its nodes, the root last, and its vtree, likewise.

        >>> nodes = "L 0 0 -1\\nL 1 2 2\\nT 2\\nL 3 0 1\\nD 4 1 2 0 1 3 2\\n"
        >>> either = Nodes.read(nodes, "L 0 1\\nL 2 2\\nI 1 0 2\\n", 2)
        >>> either.elements.tolist(), either.arity, either.root
        ([[0, 3], [1, 4]], tensor([2]), 6)
        """
        inner = [line.split()[1] for line in vtree.splitlines() if line.startswith("I")]
        rank = {name: place for place, name in enumerate(reversed(inner))}
        true, false = 2 * variables, 2 * variables + 1
        number: dict[str, int] = {}
        arity: list[int] = []
        place: list[int] = []
        elements: list[tuple[int, int]] = []
        last = ""
        for line in text.splitlines():
            kind, *words = line.split() or [""]
            if kind not in ("T", "F", "L", "D"):
                continue
            last = words[0]
            if kind == "L":
                number[last] = 2 * (abs(int(words[2])) - 1) + (int(words[2]) > 0)
            elif kind == "D":
                pairs = [(number[p], number[s]) for p, s in zip(words[3::2], words[4::2], strict=True)]
                pairs = [pair for pair in pairs if false not in pair]
                number[last] = 2 * variables + 2 + len(arity)
                arity.append(len(pairs))
                place.append(rank[words[1]])
                elements += pairs
            else:
                number[last] = true if kind == "T" else false
        counts, places, pairs_of = (torch.tensor(each, dtype=torch.long) for each in (arity, place, elements))
        return cls(variables, counts, places, pairs_of.view(-1, 2), number[last])


def compiled(rule: Cnf, nodes: int = NODES, seconds: float = SECONDS) -> tuple[Nodes, Nodes]:
    """The circuits of a formula and of its negation; raises InverseError where they do not fit the limits."""
    load("pysdd", "Compiling a formula", "pysdd", InverseError)
    variables = rule.space.sites
    lines = [str(variables), *(" ".join(map(str, clause)) for clause in rule.clauses)]
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-P", sdd.__file__, str(nodes), folder]
        try:
            ended = subprocess.run(
                command, input="\n".join([*lines, ""]), text=True, capture_output=True, timeout=seconds
            )
        except subprocess.TimeoutExpired as error:
            raise InverseError(
                f"{rule!r} was not compiled within {seconds:g} s. Allow more seconds, or learn from its parts."
            ) from error
        if ended.returncode == sdd.TOO_LARGE:
            raise InverseError(
                f"The circuit of {rule!r} has more than {nodes:,} nodes. Allow more nodes, or learn from its parts."
            )
        if ended.returncode:
            raise InverseError(
                f"PySDD failed to compile {rule!r} (status {ended.returncode}): {ended.stderr.strip()[-500:]}"
            )
        holds, fails, vtree = ((Path(folder) / name).read_text() for name in ("holds.sdd", "fails.sdd", "vtree"))
    return Nodes.read(holds, vtree, variables), Nodes.read(fails, vtree, variables)
