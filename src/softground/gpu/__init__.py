"""Work that a GPU plays back from a recording: functions of tensors, kernel steps, the passes of a network."""

from .graphed import Graphed
from .passes import Passes
from .recorded import NotRecordable, Recorded

__all__ = ["Graphed", "NotRecordable", "Passes", "Recorded"]
