"""Compare this working tree with commit 068739f6: seconds of training steps, and weights after training.

    python tools/parity.py [WORKLOAD …] [--pairs 15] [--steps 200] [--epochs 3] [--network strided] [--image-size 8]
                           [--old DIR] [--json FILE]

Each workload trains in two child processes, one per tree, with one thread. They take turns: a pair is ``--steps`` steps
of each, in CPU seconds. Only what lies between two batches of an epoch counts, neither preparation nor evaluation.
The ratio is new over old: the median over pairs, and the interval in which the true median lies with at least 95 %
(order statistics; fewer than six pairs give less). A workload has failed if the whole interval lies above 1.03.

The network is a small one, so that the rest of a step counts; ``--network lenet --image-size 28`` is as published.

Weights are compared after ``--epochs`` epochs of Stage I from one seed: the largest difference of a number. Expected
are 0 for scans and at most 1e-5 for tables.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

ROOT, OLD = Path(__file__).resolve().parent.parent, "068739f6"
LIMIT, WARM_UP = 1.03, 10  # the largest ratio allowed; steps before anything is timed
NAMED: dict[str, tuple[str, dict[str, Any]]] = {  # tasks with their preset best
    "formulas": ("hwf", {"data": "digits"}),
    "sudoku9": ("sudoku", {"size": 9}),
    "addition1": ("addition", {}),
    "addition15": ("addition", {"digits": 15}),
    "sums100": ("sums", {"digits": (100,), "repeat": True}),
    "labels": ("addition", {"objective": "sup"}),
}
SIZES = {"formulas": (3000, 640), "sudoku9": (1000, 200), "sums100": (1600, 160)}  # examples: for time, for weights
WORKLOADS = (*NAMED, "lists")
TOLERANCE = {"formulas": 1e-5, "sudoku9": 1e-5, "lists": 1e-5, "addition1": 0.0, "addition15": 0.0, "sums100": 0.0}


class Stop(Exception):
    """Ends training."""


def learner(name: str, epochs: int, short: bool, given: argparse.Namespace) -> tuple[Any, Any]:
    """A learner, and what it trains on."""
    import torch

    import softground as sg

    if name == "lists":  # 10⁷ states, of which each answer allows few
        space = sg.Categorical([range(10)] * 7)

        def rising(z: Any, y: Any) -> Any:
            import z3

            return z3.And(*(z[i] < z[i + 1] for i in range(6)), sum(z) == y)

        rows = torch.combinations(torch.arange(10), 7)
        z = rows[torch.randint(len(rows), (320 if short else 3200,), generator=torch.Generator().manual_seed(0))]
        task = sg.Task(space, sg.SMT(rising, space), name="rising")
        torch.manual_seed(0)
        network = sg.PerSite(torch.nn.Sequential(torch.nn.Flatten(), sg.mlp(64, 10)), (1, 8, 8))
        examples = sg.Examples(sg.handwritten(z, "train") / 255, z.sum(1).tolist())
        return sg.Learner(task, network, sg.grounding_stages(task, epochs=epochs), batch_size=32), examples
    task_name, options = NAMED[name]
    options = {"network": given.network} | options | ({"image_size": given.image_size} if name == "formulas" else {})
    options |= {"train_size": SIZES[name][short]} if name in SIZES else {}
    experiment = sg.experiments.Experiment.named(task_name, epochs=epochs, device="cpu", **options)
    return experiment.learner(), experiment.train


def child(given: argparse.Namespace) -> None:
    """Train in this process: a line of standard output for each line of standard input, or weights into a file."""
    import numpy as np
    import torch

    torch.set_num_threads(1)
    answer, sys.stdout = sys.stdout, sys.stderr  # a progress display must not be taken for an answer
    [name] = given.workloads
    made, data = learner(name, given.epochs if given.weights else 10**6, bool(given.weights), given)
    if given.weights:
        made.fit(data, quiet=True)
        np.savez(given.weights, **{key: value.cpu().numpy() for key, value in made.network.state_dict().items()})
        return
    spent, count, before, wanted = 0.0, 0, None, WARM_UP

    def observe(event: str, facts: dict[str, Any]) -> None:
        nonlocal spent, count, before, wanted
        now = time.process_time()
        if event == "batch" and before is not None:
            spent, count = spent + now - before, count + 1
        if count == wanted:
            print(spent, file=answer, flush=True)
            if not sys.stdin.readline():
                raise Stop
            spent, count, wanted = 0.0, 0, given.steps
        before = time.process_time() if event == "batch" else None

    try:
        made.fit(data, observer=observe, quiet=True)
    except Stop:
        return


def started(tree: Path, name: str, given: argparse.Namespace, *more: str) -> subprocess.Popen[str]:
    """A child process with the package of ``tree``."""
    environment = os.environ | {"PYTHONPATH": str(tree / "src"), "SOFTGROUND_CACHE": "off"}
    environment |= {name: "1" for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
    options = {option: getattr(given, option) for option in ("steps", "epochs", "network", "image_size")}
    words = [f"--{option.replace('_', '-')}={value}" for option, value in options.items()]
    command = [sys.executable, "-W", "ignore", __file__, name, "--child", *words, *more]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)


def seconds(process: subprocess.Popen[str]) -> float:
    """The child's next answer."""
    assert process.stdout is not None
    if not (line := process.stdout.readline()):
        raise SystemExit("A child process has failed; its error is above.")
    return float(line)


def ask(process: subprocess.Popen[str]) -> float:
    """Let the child train on, and return the seconds it took."""
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()
    return seconds(process)


def pairs(name: str, trees: dict[str, Path], given: argparse.Namespace) -> list[tuple[float, float]]:
    """Seconds of the new tree and of the old one, in turns; who begins alternates."""
    children = {kind: started(tree, name, given) for kind, tree in trees.items()}
    try:
        for process in children.values():
            seconds(process)
        found = []
        for number in range(given.pairs):
            took = {kind: ask(children[kind]) for kind in sorted(children, reverse=bool(number % 2))}
            found.append((took["new"], took["old"]))
        return found
    finally:
        for process in children.values():
            assert process.stdin is not None
            process.stdin.close()
            process.wait()


def interval(values: list[float]) -> tuple[float, float]:
    """The order statistics between which the median lies with at least 95 %, or all values where these are too few."""
    ordered, size = sorted(values), len(values)
    outside, skipped = 0.0, 0
    while (outside := outside + math.comb(size, skipped) / 2**size) <= 0.025:
        skipped += 1
    skipped = max(0, skipped - 1)
    return ordered[skipped], ordered[-1 - skipped]


def difference(name: str, trees: dict[str, Path], given: argparse.Namespace) -> float:
    """The largest difference of a weight after a short training from one seed."""
    import numpy as np

    with tempfile.TemporaryDirectory() as folder:
        files = {kind: Path(folder) / f"{kind}.npz" for kind in trees}
        for kind, tree in trees.items():
            if started(tree, name, given, "--weights", str(files[kind])).wait():
                raise SystemExit("A child process has failed; its error is above.")
        new, old = (dict(np.load(files[kind])) for kind in ("new", "old"))
    if new.keys() != old.keys():
        raise SystemExit(f"{name}: the networks have other weights: {sorted(new.keys() ^ old.keys())}")
    return max(float(np.abs(new[key].astype(float) - old[key].astype(float)).max(initial=0.0)) for key in new)


@contextmanager
def old_tree(given: Path | None) -> Iterator[Path]:
    """The worktree given, or a new one for a while."""
    if given is not None:
        yield given
        return
    with tempfile.TemporaryDirectory() as folder:
        git, place = ["git", "-C", str(ROOT), "worktree"], str(Path(folder) / OLD)
        subprocess.run([*git, "add", "--quiet", "--detach", place, OLD], check=True)
        try:
            yield Path(place)
        finally:
            subprocess.run([*git, "remove", "--force", place], check=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "workloads", nargs="*", metavar="WORKLOAD", help=f"any of {', '.join(WORKLOADS)} (default: all)"
    )
    parser.add_argument("--pairs", type=int, default=15, help="pairs of turns; 0: weights alone")
    parser.add_argument("--steps", type=int, default=200, help="steps of a turn")
    parser.add_argument("--epochs", type=int, default=3, help="epochs after which weights are compared; 0: time alone")
    parser.add_argument("--network", default="strided", help="the network, but of lists")
    parser.add_argument("--image-size", type=int, default=8, help="side of the formulas' images")
    parser.add_argument("--old", type=Path, help=f"a worktree of {OLD} (default: one is made for a while)")
    parser.add_argument("--json", type=Path, help="write the figures here")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--weights", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if unknown := [name for name in given.workloads if name not in WORKLOADS]:
        parser.error(f"{unknown[0]} was given; the workloads are {', '.join(WORKLOADS)}")
    if given.child:
        child(given)
        return 0
    found: dict[str, dict[str, Any]] = {}
    with old_tree(given.old) as old:
        trees = {"new": ROOT, "old": old}
        for name in given.workloads or WORKLOADS:
            figures: dict[str, Any] = {}
            if given.epochs:
                figures["difference"] = difference(name, trees, given)
                figures["same"] = figures["difference"] <= TOLERANCE.get(name, 0.0)
            if given.pairs:
                took = pairs(name, trees, given)
                ratios = [new / old for new, old in took]
                low, high = interval(ratios)
                figures |= {"ratio": median(ratios), "low": low, "high": high, "fast": low <= LIMIT}
                figures |= {"milliseconds": [1000 * median(each) / given.steps for each in zip(*took, strict=True)]}
            found[name] = figures
            words = [f"{name:11}"]
            if given.pairs:
                new, before = figures["milliseconds"]
                words += [f"ratio {figures['ratio']:.3f} [{low:.3f}, {high:.3f}]  {new:.2f} ms, was {before:.2f}"]
            if given.epochs:
                words += [f"weights differ by {figures['difference']:.1e}"]
            words += [
                word for key, word in (("fast", "TOO SLOW"), ("same", "OTHER WEIGHTS")) if not figures.get(key, True)
            ]
            print("  ".join(words), flush=True)
    if given.json:
        given.json.write_text(json.dumps(found, indent=1) + "\n")
    return int(any(not figures.get(key, True) for figures in found.values() for key in ("fast", "same")))


if __name__ == "__main__":
    raise SystemExit(main())
