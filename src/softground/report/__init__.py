"""Reports: what a person sees of a run."""

from .progress import Display, title
from .tables import result_table

__all__ = ["Display", "result_table", "title"]
