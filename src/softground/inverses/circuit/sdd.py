"""Compile clauses into an SDD: a program of its own, run by path, that imports nothing but PySDD.

So it starts in a tenth of a second, can be killed when its time is up, and takes no memory that it would not give back.

    python -P sdd.py NODES FOLDER < CLAUSES

The first line of the input is the number of variables, each other line a clause. It writes ``holds.sdd`` and
``fails.sdd``, the formula and its negation, and their vtree into the folder, in the text formats of the SDD package; or
ends with status :data:`TOO_LARGE` where the diagram has more than ``NODES`` elements, or :data:`SWELLS` times as many
on the way: that of some clauses is often larger than that of all.
"""

import sys

TOO_LARGE = 3
SWELLS = 10


def main() -> None:
    from pysdd.sdd import SddManager, Vtree

    most, folder = int(sys.argv[1]), sys.argv[2]
    first, *rest = sys.stdin.read().splitlines()
    clauses = [[int(word) for word in line.split()] for line in rest]
    manager = SddManager.from_vtree(Vtree(var_count=int(first), vtree_type="balanced"))
    manager.auto_gc_and_minimize_on()
    formula = manager.true()
    formula.ref()
    for clause in sorted(clauses, key=lambda clause: max(map(abs, clause), default=0)):
        disjunction = manager.false()
        for literal in clause:
            disjunction = disjunction | manager.literal(literal)
        longer = formula & disjunction
        longer.ref()
        formula.deref()
        formula = longer
        if formula.size() > SWELLS * most:
            sys.exit(TOO_LARGE)
    manager.auto_gc_and_minimize_off()
    if formula.size() > most:
        sys.exit(TOO_LARGE)
    for name, node in (("holds", formula), ("fails", ~formula)):
        node.save(f"{folder}/{name}.sdd".encode())
    manager.vtree().save(f"{folder}/vtree".encode())


if __name__ == "__main__":
    main()
