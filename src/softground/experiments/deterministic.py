"""``--deterministic``: algorithms that give the same bits each time on a GPU, and a word on those it has not."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from rich.console import Console

ALONE = re.compile(r"(\w+) does not have a deterministic implementation")


def switch_on() -> None:
    """Ask torch for deterministic algorithms; cuBLAS reads its setting when CUDA starts, so this must come before."""
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.backends.cudnn.benchmark = False  # which algorithm is fastest is another answer each time


@contextmanager
def deterministic(wanted: bool) -> Iterator[None]:
    """Run a block so, if that is wanted, and say at its end which operations had no such algorithm."""
    if not wanted:
        yield
        return
    before = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    benchmark, alone = torch.backends.cudnn.benchmark, dict[str, None]()
    switch_on()
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("always", message=f".*{ALONE.pattern}")
            shown = warnings.showwarning

            def note(message: Any, *rest: Any, **more: Any) -> None:
                if found := ALONE.search(str(message)):
                    alone[found[1]] = None
                else:
                    shown(message, *rest, **more)

            warnings.showwarning = note
            yield
    finally:
        torch.use_deterministic_algorithms(before[0], warn_only=before[1])
        torch.backends.cudnn.benchmark = benchmark
        if alone:
            text = f"No deterministic algorithm for: {', '.join(alone)}; another run may give other bits."
            Console(stderr=True, highlight=False, soft_wrap=True).print(text, markup=False)
