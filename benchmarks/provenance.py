"""Where a number comes from: commit, command, machine and versions, as every record of a measurement keeps them."""

import json
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
FOLDERS |= {"--words": "FILE", "--records": "DIR", "--envs": "DIR", "--carried": "DIR", "--page": "FILE"}
# Parts of a run's summary that no table shows.
UNSHOWN = {"before", "grounded", "other_maps", "reliability", "test_sets", "text", "train", "versions"}
UNSHOWN_FIGURES = ("_f1", "_f1_all", "_collapse", "_collapse_all")
# Parts of records that many runs have in common.
SHARED = ("command", "environment", "note", "recipe", "settings")


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


def page_text(page: Mapping[str, Any]) -> str:
    """A record as JSON with one line for each run, row or figure; what runs have in common stands once.

    >>> text = page_text({"runs": {"a/0": {"recipe": {"epochs": 3}}, "a/1": {"recipe": {"epochs": 3}}}})
    >>> print(text, end="")
    {
    "runs": {
    "a/0": {"recipe": 0},
    "a/1": {"recipe": 0}
    },
    "shared": {
    "recipe": [{"epochs": 3}]
    }
    }
    >>> parse_page(text)["runs"]["a/1"]
    {'recipe': {'epochs': 3}}
    """

    def text(value: Any, depth: int) -> str:
        if depth == 0 or not isinstance(value, Mapping) or not value:
            return json.dumps(value, ensure_ascii=False)
        lines = [f"{json.dumps(str(key), ensure_ascii=False)}: {text(item, depth - 1)}" for key, item in value.items()]
        return "{\n" + ",\n".join(lines) + "\n}"

    shared: dict[str, list[Any]] = {}
    found = {key: value if key in SHARED else share(value, shared) for key, value in page.items()}
    return text(found | ({"shared": shared} if shared else {}), 2) + "\n"


def parse_page(text: str) -> Any:
    """A record as it was given to :func:`page_text`."""
    page = json.loads(text)
    shared = page.pop("shared", {})
    return {key: value if key in SHARED else unshare(value, shared) for key, value in page.items()}


def read_page(path: Path) -> Any:
    """The record in a file."""
    return parse_page(path.read_text(encoding="utf-8"))


def share(value: Any, shared: dict[str, list[Any]]) -> Any:
    """``value`` with the parts named in :data:`SHARED` replaced by their places in the lists of ``shared``."""
    if isinstance(value, list):
        return [share(item, shared) for item in value]
    if not isinstance(value, Mapping):
        return value
    found = {}
    for key, item in value.items():
        if key in SHARED and isinstance(item, Mapping | str):
            known = shared.setdefault(key, [])
            if item not in known:
                known.append(item)
            found[key] = known.index(item)
        else:
            found[key] = share(item, shared)
    return found


def unshare(value: Any, shared: Mapping[str, Sequence[Any]]) -> Any:
    """What :func:`share` was given."""
    if isinstance(value, list):
        return [unshare(item, shared) for item in value]
    if not isinstance(value, Mapping):
        return value
    return {
        key: shared[key][item] if key in shared and type(item) is int else unshare(item, shared)
        for key, item in value.items()
    }


def thinned(run: Mapping[str, Any]) -> dict[str, Any]:
    """A run's summary as a record keeps it: without what no table shows, and with numbers to seven digits."""
    shown = {k: v for k, v in run.items() if k not in UNSHOWN and not k.startswith("after_stage_")}
    return {k: rounded(v, 7) for k, v in shown.items() if not k.endswith(UNSHOWN_FIGURES)}


def rounded(value: Any, digits: int = 5) -> Any:
    """Floats to significant digits, all the way down: more would be noise."""
    if isinstance(value, float):
        return float(f"{value:.{digits}g}")
    if isinstance(value, Mapping):
        return {key: rounded(item, digits) for key, item in value.items()}
    return [rounded(item, digits) for item in value] if isinstance(value, list | tuple) else value
