"""Settings of the comparison that no library's own example decides: what was tried for each row, and what is in use.

``tune.py`` tries them on a part of the training examples that is put away; ``benchmarks/results/peers_choice.json`` has
what came out. Rows of one task have equally many candidates, and each differs from "as it was" in what it is called.
"""

from __future__ import annotations

Options = tuple[str, ...]

CANDIDATES: dict[str, dict[str, Options]] = {
    "softground": {
        "as it was": (),
        "warm-up 0.2": ("--warm", "0.2"),
        "rate 2e-3": ("--rate", "2e-3"),
        "batches of 64": ("--batch", "64"),
        "15 epochs": ("--epochs", "15"),
        "inputs in 0 … 1": ("--normalise", "0"),
    },
    "ltntorch-once": {
        "as it was": (),
        "batches of 32": ("--batch", "32"),
        "batches of 256": ("--batch", "256"),
        "rate 3e-3": ("--rate", "3e-3"),
        "p from 2 on": ("--first-p", "2"),
        "inputs in 0 … 1": ("--normalise", "0"),
    },
    "softground-hwf": {"as it was": (), "rate 5e-3": ("--rate", "5e-3"), "rate 1.6e-2": ("--rate", "1.6e-2")},
    "ablkit-hwf": {"as it was": (), "rate 5e-4": ("--rate", "5e-4"), "rate 2e-3": ("--rate", "2e-3")},
}
OWN: dict[str, Options] = {"ltntorch-once": ("--grounding", "once", "--batch", "128", "--normalise", "1")}
CHOSEN = {
    "softground": "as it was",
    "ltntorch-once": "inputs in 0 … 1",
    "softground-hwf": "rate 1.6e-2",
    "ablkit-hwf": "rate 2e-3",
}


def told(row: str, candidate: str | None = None) -> Options:
    """What a row's runner is told: the row's own options, then a candidate's, by default that in use."""
    return (*OWN.get(row, ()), *CANDIDATES[row][candidate or CHOSEN[row]])
