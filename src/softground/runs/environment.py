"""What a run ran on: versions and hardware, recorded beside its numbers so that they can be reproduced."""

import os
import platform
from importlib import metadata
from typing import Any

import torch

from .. import __version__

PACKAGES = {"numpy": "numpy", "z3": "z3-solver"}


def environment() -> dict[str, Any]:
    """Versions (None where a package is not installed), platform, CPU count and GPU name (None without one).

    Versions come from the installed packages' metadata, so nothing is imported merely to be asked; torch, which is
    imported anyway, names its build too (``2.13.0+cpu``), which the metadata of the index's package leave out.

    >>> sorted(environment())
    ['cpus', 'gpu', 'numpy', 'platform', 'python', 'softground', 'torch', 'z3']
    """
    found: dict[str, Any] = {"python": platform.python_version(), "torch": str(torch.__version__)}
    for key, package in PACKAGES.items():
        try:
            found[key] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[key] = None
    found["softground"] = __version__
    found["platform"] = platform.platform()
    found["cpus"] = os.cpu_count()
    found["gpu"] = torch.cuda.get_device_name() if torch.cuda.is_available() else None
    return found
