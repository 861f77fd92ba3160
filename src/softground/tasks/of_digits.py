"""What tasks in images of digits have in common: where the images come from."""

from dataclasses import dataclass
from pathlib import Path

from ..data.digits import Source
from ..experiments.problem import Problem


@dataclass(frozen=True, kw_only=True)
class OfDigits(Problem):
    """A problem whose sites show digits."""

    data: Source = "digits"
    """digits: scikit-learn's handwritten digits (built in); mnist: MNIST's IDX files, in a folder of yours."""
    data_dir: Path | None = None
    """The folder of MNIST's IDX files."""
