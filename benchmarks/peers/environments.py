"""An environment of its own for each peer, made once and made again when its constraints change."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
LIMIT = 900.0  # seconds for one installation


class InstallFailed(Exception):
    """A peer that does not install here; the message is pip's own."""


def interpreter(name: str, packages: tuple[str, ...], folder: Path) -> Path:
    """The Python of environment ``name`` under ``folder``, installed first where that is needed."""
    constraints = HERE / f"constraints-{name}.txt"
    place, wanted = folder / name, " ".join(packages) + constraints.read_text()
    python, stamp = place / "bin" / "python", place / "installed"
    digest = hashlib.sha256(wanted.encode()).hexdigest()
    if stamp.exists() and stamp.read_text() == digest:
        return python
    print(f"{name}: installing into {place}", flush=True)
    call([sys.executable, "-m", "venv", "--clear", str(place)])
    call(
        [
            str(python),
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "-c",
            str(constraints),
            *packages,
        ]
    )
    stamp.write_text(digest)
    return python


def call(command: list[str]) -> None:
    """Run it; say why where it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        raise InstallFailed(f"not done after {LIMIT:.0f} s") from None
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.strip() and not line.startswith("WARNING")]
        raise InstallFailed("; ".join(said[-3:]) or f"exit status {done.returncode}")
