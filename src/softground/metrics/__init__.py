"""What predictions are worth: shares that are right, F1, collapse and calibration; and how others have counted them."""

from .accuracy import accuracies, best_relabelling
from .calibration import calibration_error, reliability
from .detection import auroc
from .published import joint, released_nesydm_error, site_calibration_error, weighted_f1
from .symbols import collapse, macro_f1

__all__ = ["accuracies", "auroc", "best_relabelling", "calibration_error", "collapse", "joint", "macro_f1"]
__all__ += ["released_nesydm_error", "reliability", "site_calibration_error", "weighted_f1"]
