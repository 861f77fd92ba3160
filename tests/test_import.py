"""Importing the package is quick and quiet: what is slow to import is imported where it is used."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import softground

SLOW = ("lightning_fabric", "z3", "cpmpy", "ortools", "joblib", "matplotlib", "sklearn", "scipy", "networkx", "tyro")
SLOW += ("rich",)


def test_nothing_slow_is_imported_with_the_package() -> None:
    code = (
        "import torch, sys; before = set(sys.modules); import softground; "
        f"print([m for m in {SLOW!r} if m in set(sys.modules) - before])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    assert done.stderr == ""


def test_no_network_is_asked_for_at_import() -> None:
    code = (
        "import socket\n"
        "def refuse(*a, **k): raise SystemExit('a connection was tried')\n"
        "socket.socket.connect = refuse\n"
        "import softground, softground.cli, softground.tasks"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0


def test_the_package_names_the_files_to_read() -> None:
    found = re.findall(r"^\d+\. ``(.*?)``", softground.__doc__ or "", re.M)
    assert len(found) == 10
    assert all((Path(softground.__file__).parent / name).is_file() for name in found)
