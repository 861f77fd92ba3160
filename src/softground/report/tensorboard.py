"""Metrics for TensorBoard, in ``tensorboard/`` of the run folder; needs the extra ``tensorboard``."""

import importlib.util
from collections.abc import Iterator, Mapping
from typing import Any

from ..errors import SoftgroundError
from ..files import failure
from ..runs import RunFolder
from .numbers import is_number

LOGS = "tensorboard"


def available() -> bool:
    """Whether the package is installed."""
    return importlib.util.find_spec("tensorboard") is not None


def require() -> None:
    """Say what to do where the package is not installed."""
    if not available():
        raise SoftgroundError(
            "TensorBoard logs were asked for, but the package tensorboard is not installed. Install it with "
            "pip install tensorboard, or go without: report.html shows the same curves."
        )


class TensorBoard:
    """An observer of the training loop that logs every number of an epoch, by epochs through all stages."""

    def __init__(self, folder: RunFolder) -> None:
        require()
        self.path = folder.path / LOGS
        if self.path.is_symlink():
            raise failure(self.path, "it is a link, which may lead out of the run folder", "Remove it")

    def __call__(self, event: str, facts: dict[str, Any]) -> None:
        """React to an event of the loop."""
        if event == "begin":
            from torch.utils.tensorboard import SummaryWriter

            self.done = facts["epochs"]
            self.last = facts["stages"][-1].name
            # Steps from here on that an interrupted run left are not shown.
            self.writer: Any = SummaryWriter(str(self.path), purge_step=self.done + 1)
        elif event == "epoch":
            self.done += 1
            for name, value in scalars(facts):
                self.writer.add_scalar(name, value, self.done)
            self.writer.flush()
        elif event == "stage" and facts["stage"] == self.last:
            self.writer.close()


def scalars(record: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """The numbers of a record, by the names TensorBoard groups them under.

    >>> record = {"stage": "I", "epoch": 3, "loss": 0.5, "gamma": None, "test_a": 1.0, "seconds": {"total": 2.0}}
    >>> list(scalars(record))
    [('training/loss', 0.5), ('held-out/a', 1.0), ('seconds/total', 2.0)]
    """
    for name, value in record.items():
        if isinstance(value, Mapping):
            yield from ((f"{name}/{part}", float(v)) for part, v in value.items() if is_number(v))
        elif name != "epoch" and is_number(value):
            part, _, rest = name.partition("_")
            group = {"test": "held-out", "validation": "validation"}.get(part)
            yield f"{group}/{rest}" if group else f"training/{name}", float(value)
