"""Work that a GPU plays back from a recording: functions of tensors, the passes of a network."""

from .passes import Passes
from .recorded import NotRecordable, Recorded

__all__ = ["NotRecordable", "Passes", "Recorded"]
