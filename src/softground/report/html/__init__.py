"""Pages: facts in, one self-contained HTML document out."""

from .compare import compare_page, write_comparison
from .run import run_page, write_report

__all__ = ["compare_page", "run_page", "write_comparison", "write_report"]
