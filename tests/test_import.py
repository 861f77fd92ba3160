"""Importing the package is quick and quiet: what is slow to import is imported where it is used."""

from __future__ import annotations

import subprocess
import sys

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
