"""Where the time goes: seconds in the network, in sampling, in the solver."""

import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

import torch


class Stopwatch:
    """Adds up the time of named parts. On a GPU it records events, and waits for them only when read."""

    def __init__(self, device: torch.device) -> None:
        self._cuda = device.type == "cuda"
        self._seconds: dict[str, float] = defaultdict(float)
        self._events: list[tuple[str, torch.cuda.Event, torch.cuda.Event]] = []

    @contextmanager
    def __call__(self, part: str) -> Iterator[None]:
        if self._cuda:
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
            begin.record()
            yield
            end.record()
            self._events.append((part, begin, end))
        else:
            start = time.perf_counter()
            yield
            self._seconds[part] += time.perf_counter() - start

    def read(self) -> dict[str, float]:
        """Seconds per part since the last reading."""
        if self._events:
            torch.cuda.synchronize()
            for part, begin, end in self._events:
                self._seconds[part] += begin.elapsed_time(end) / 1000
            self._events.clear()
        seconds, self._seconds = dict(self._seconds), defaultdict(float)
        return seconds
