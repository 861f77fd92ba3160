"""Pages: facts in, one self-contained HTML document out."""

from .compare import compare_page
from .run import run_page

__all__ = ["compare_page", "run_page"]
