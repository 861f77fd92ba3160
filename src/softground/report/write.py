"""Write a run's report into its folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..files import replace_file
from ..runs import RunFolder
from .facts import Facts
from .findings import Findings
from .html import compare_page, run_page

REPORT = "report.html"


def write_report(folder: RunFolder, findings: Findings | None = None, path: Path | None = None) -> Path:
    """Write ``report.html`` (or ``path``) from what the run folder holds; ``findings`` are kept in the folder first."""
    if findings is not None:
        findings.write(folder)
    path = path or folder.path / REPORT
    replace_file(path, run_page(Facts.read(folder)).encode())
    return path


def write_comparison(folders: Sequence[RunFolder], path: Path) -> Path:
    """Write a page with several runs side by side."""
    replace_file(path, compare_page([Facts.read(folder) for folder in folders]).encode())
    return path
