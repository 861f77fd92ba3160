"""What predictions are worth: shares that are right, F1, collapse and calibration."""

from .accuracy import accuracies, best_relabelling
from .calibration import calibration_error, reliability
from .detection import auroc
from .symbols import collapse, macro_f1

__all__ = ["accuracies", "auroc", "best_relabelling", "calibration_error", "collapse", "macro_f1", "reliability"]
