"""The rows of the comparison: which library, in which environment, trained by which runner, with whose settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from settings import told


@dataclass(frozen=True)
class Row:
    """One row of a table.

    Parameters
    ----------
    task
        ``"addition"`` (pairs of MNIST digits) or ``"formulas"`` (HWF, length 7).
    title
        What the table calls it.
    script, options
        The runner and what it is told.
    source
        Where the settings come from.
    environment, packages
        The name of its environment, with constraints in ``constraints-NAME.txt``, and what is installed there; without
        one it runs in the interpreter of ``compare.py``, on this repository's source.
    devices
        Where it is run unless it is asked for by name.
    """

    task: Literal["addition", "formulas"]
    title: str
    script: str
    source: str
    options: tuple[str, ...] = ()
    environment: str = ""
    packages: tuple[str, ...] = ()
    devices: tuple[str, ...] = ("cpu", "cuda")


KLAY = ("klaycircuits", "PySDD", "torch")
ABLKIT = ("ablkit", "scipy", "torch")
LTNTORCH = ("LTNtorch", "torch")
DEEPPROBLOG = ("deepproblog", "torch")

ROWS: dict[str, Row] = {
    "softground": Row(
        "addition",
        "softground",
        "run_softground.py",
        "the library's defaults, with a shorter warm-up and inputs normalised",
        told("softground"),
    ),
    "klay": Row(
        "addition",
        "KLay",
        "run_klay.py",
        "KLay's `experiments/mnist_addition/run.py`",
        environment="klay",
        packages=KLAY,
    ),
    "klay-same": Row(
        "addition",
        "KLay, softground's optimiser",
        "run_klay.py",
        "batches, optimiser and rate of the softground row: KLay is a layer and brings none",
        ("--recipe", "same", *told("softground")),
        environment="klay",
        packages=KLAY,
    ),
    "klay-same-compiled": Row(
        "addition",
        "KLay, softground's optimiser, compiled",
        "run_klay.py",
        "the same, with `torch.compile` and CUDA graphs, KLay's default",
        ("--recipe", "same", "--compile", "1"),
        environment="klay",
        packages=KLAY,
        devices=("cuda",),
    ),
    "ablkit": Row(
        "addition",
        "ABLkit",
        "run_ablkit.py",
        "ABLkit's `examples/mnist_add/main.py`",
        environment="ablkit",
        packages=ABLKIT,
    ),
    "ablkit-long": Row(
        "addition",
        "ABLkit, 8 loops",
        "run_ablkit.py",
        "the same, with its one-cycle rate over eight passes instead of two",
        ("--loops", "8"),
        environment="ablkit",
        packages=ABLKIT,
    ),
    "ltntorch": Row(
        "addition",
        "LTNtorch",
        "run_ltntorch.py",
        "LTNtorch's `examples/4-semi-supervised_pattern_recognition.ipynb`",
        environment="ltntorch",
        packages=LTNTORCH,
    ),
    "ltntorch-once": Row(
        "addition",
        "LTNtorch, one forward pass per image",
        "run_ltntorch.py",
        "the same axiom, with its variables grounded in the network's probabilities, and batches of 128",
        told("ltntorch-once"),
        environment="ltntorch",
        packages=LTNTORCH,
    ),
    "deepproblog": Row(
        "addition",
        "DeepProbLog",
        "run_deepproblog.py",
        "DeepProbLog's `examples/MNIST/addition.py`, exact inference with its cache of circuits",
        environment="deepproblog",
        packages=DEEPPROBLOG,
        devices=("cpu",),
    ),
    "softground-hwf": Row(
        "formulas",
        "softground",
        "run_softground_hwf.py",
        "`softground train hwf --preset best --network lenet --learning-rate 1.6e-2`, the cycle fitted to the time "
        "limit",
        told("softground-hwf"),
    ),
    "softground-hwf-grammatical": Row(
        "formulas",
        "softground, grammatical readings",
        "run_softground_hwf.py",
        "`softground train hwf --preset best --network lenet --learning-rate 1.6e-2 --readings grammatical`, the cycle "
        "likewise",
        ("--readings", "grammatical", *told("softground-hwf")),
    ),
    "klay-hwf": Row(
        "formulas",
        "KLay",
        "run_klay_hwf.py",
        "KLay has no example with formulas: optimiser, rate, batches and distortions of the softground row, and a "
        "circuit written for it with KLay's nodes",
        told("softground-hwf"),
        environment="klay",
        packages=KLAY,
    ),
    "klay-hwf-compiled": Row(
        "formulas",
        "KLay, compiled",
        "run_klay_hwf.py",
        "the same, with `torch.compile` and CUDA graphs, KLay's default",
        ("--compile", "1", *told("softground-hwf")),
        environment="klay",
        packages=KLAY,
        devices=("cuda",),
    ),
    "ablkit-hwf": Row(
        "formulas",
        "ABLkit",
        "run_ablkit_hwf.py",
        "ABLkit's `examples/hwf/main.py --ground`, listing only what is grammatical",
        told("ablkit-hwf"),
        environment="ablkit",
        packages=ABLKIT,
    ),
}
