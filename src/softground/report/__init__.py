"""Reports: what a person sees of a run."""

from . import loggers
from .gathering import gather
from .html import write_comparison, write_report
from .loggers import shown
from .progress import Display, result_table, title
from .watch import Watch

__all__ = ["Display", "Watch", "gather", "loggers", "result_table", "shown", "title", "write_comparison"]
__all__ += ["write_report"]
