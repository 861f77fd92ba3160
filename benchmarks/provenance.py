"""Where a number comes from: commit, command, machine and versions, as every record of a measurement keeps them."""

import os
import shlex
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from softground.runs import environment

HERE = Path(__file__).resolve()
ROOT = HERE.parents[1]
WRITTEN = ("benchmarks/results", "docs", "README.md", "examples/README.md")  # by measurements; they change no number
# Folders of one machine say nothing elsewhere.
FOLDERS = {"--data-dir": "DIR", "--old": "DIR", "--out": "DIR", "--pictures": "DIR", "--baseline": "FILE"}
FOLDERS |= {"--records": "DIR", "--envs": "DIR", "--carried": "DIR", "--page": "FILE"}


def provenance() -> dict[str, Any]:
    """What a record needs for others to make it again, beside its recipe.

    >>> sorted(provenance())
    ['command', 'commit', 'environment']
    """
    return {"commit": commit(), "command": command(sys.argv), "environment": environment()}


def commit() -> str:
    """The commit of this source tree, ``+edits`` where files differ from it; ``unknown`` where it is in no repository.

    The variable ``SOFTGROUND_COMMIT`` names the commit on a machine without the repository.
    """
    if given := os.environ.get("SOFTGROUND_COMMIT"):
        return given
    try:
        git("ls-files", "--error-unmatch", str(HERE))  # installed in somebody else's repository, it is not theirs
        head = git("rev-parse", "--short=12", "HEAD")
        edits = git("status", "--porcelain", "--", ".", *(f":!{path}" for path in WRITTEN))
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return head + ("+edits" if edits else "")


def command(arguments: Sequence[str]) -> str:
    """This process's command line as one would type it in the source tree.

    >>> command([str(ROOT / "papers" / "li2023" / "__main__.py"), "hwf", "--data-dir", "/mnt/data"])
    'python -m papers.li2023 hwf --data-dir DIR'
    """
    script, *rest = [FOLDERS.get(b, a) for b, a in zip(["", *arguments], arguments, strict=False)]
    path = Path(script).resolve()
    if path.is_relative_to(ROOT) and path.name == "__main__.py":
        return shlex.join(["python", "-m", ".".join(path.parent.relative_to(ROOT).parts), *rest])
    return shlex.join(["python", str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else path.name, *rest])


def origin(records: Iterable[Mapping[str, Any]]) -> str:
    """Where records come from, in words for below a table; the oldest name no commit.

    >>> here, there = ({"gpu": gpu, "cpus": 2} for gpu in (None, "H200"))
    >>> origin([{"commit": "abc", "environment": there}, {"environment": here}])
    'at commit abc or one that was not recorded, on 2 CPU cores, H200'
    """
    found = list(records)
    commits = sorted({str(record["commit"]) for record in found if "commit" in record})
    known = [f"commit {', '.join(commits)}"] if commits else []
    if any("commit" not in record for record in found):
        known.append(f"{'one' if commits else 'a commit'} that was not recorded")
    return f"at {' or '.join(known)}, on {', '.join(sorted(set(map(machine, found))))}"


def machine(record: Mapping[str, Any]) -> str:
    """What a record was made on: its GPU, unless it was made on the CPU beside it, or so many CPU cores.

    >>> machine({"environment": {"gpu": None, "cpus": 2}}), machine({"environment": {"gpu": "H200"}})
    ('2 CPU cores', 'H200')
    >>> machine({"device": "cpu", "environment": {"gpu": "H200", "cpus": 16}})
    '16 CPU cores'
    """
    place = record.get("environment") or record["versions"]
    used = None if record.get("device") == "cpu" else place["gpu"]
    return str(used or f"{place['cpus']} CPU cores")


def git(*arguments: str) -> str:
    """What git says of this source tree."""
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.strip()
