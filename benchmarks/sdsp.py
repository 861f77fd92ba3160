"""Measure shortest paths: every figure in the documentation about them comes from this script.

    python benchmarks/sdsp.py [--only mlp] [--seeds 0 1 2] [--workers 2] [--device cpu]

Each run is what ``softground train sdsp`` does with the options recorded beside it, in
``benchmarks/results/sdsp.json``. Graphs depend on the seed alone, so settings with the same seed are compared on the
same graphs.
"""

from __future__ import annotations

from typing import Any

from studies import Study, parser, perform

STUDY = Study("sdsp", ("path_accuracy", "graph_accuracy", "spearman"), {})
# The paper's network (an MLP with 128 hidden units), with our kernel and optimiser.
MLP: dict[str, Any] = {
    "network": "mlp",
    "relabel": True,
    "kernel": "gibbs",
    "sigma": 2.0,
    "margin": 2.0**-10,
    "epochs": 100,
}
# What the options of each setting are, beside the seed.
SETTINGS: dict[str, dict[str, Any]] = {
    "best": {},
    "best, labels": {"objective": "sup"},
    "mlp": MLP,
    "mlp, labels": MLP | {"objective": "sup"},
}


def main() -> None:
    """Run what is missing, then print and store the table."""
    given = parser(str(__doc__), "sdsp", SETTINGS).parse_args()
    wanted = {
        f"{name} | seed {seed}": settings | {"seed": seed}
        for seed in given.seeds
        for name, settings in SETTINGS.items()
        if given.only is None or name in given.only
    }
    perform(STUDY, given, wanted)


if __name__ == "__main__":
    main()
