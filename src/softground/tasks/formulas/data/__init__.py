"""Where handwritten formulas come from: scikit-learn's digits, the HWF set, or a folder of your own images."""

from ....data.examples import Split
from .alphabet import DIGITS, OPERATORS, value
from .loader import Source, SplitName, load

__all__ = ["DIGITS", "OPERATORS", "Source", "Split", "SplitName", "load", "value"]
