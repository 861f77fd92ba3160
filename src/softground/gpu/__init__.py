"""GPU: work that a GPU plays back from a recording."""

from .graphed import Graphed
from .recording import Recorded

__all__ = ["Graphed", "Recorded"]
