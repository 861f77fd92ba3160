"""Reports: what a person sees of a run."""

from .picture import draw
from .progress import Display, title
from .tables import result_table

__all__ = ["Display", "draw", "result_table", "title"]
