"""Reports: what a person sees of a run."""

from . import tensorboard
from .gathering import gather
from .observers import together
from .picture import draw, draw_result
from .progress import Display, title
from .tables import result_table
from .watch import Watch
from .write import write_comparison, write_report

__all__ = [
    "Display",
    "Watch",
    "draw",
    "draw_result",
    "gather",
    "result_table",
    "tensorboard",
    "title",
    "together",
    "write_comparison",
    "write_report",
]
