"""`make mutants`: the order of tests for mutmut, and the record of which mutants survived.

As a plugin of pytest (``-p tools.mutants``) it lets a mutant meet its fastest tests first, and no more than take
``SECONDS``: a mutant that these do not notice has survived. As a script (``python -m tools.mutants [TITLE]``) it reads
mutmut's verdicts in ``mutants/`` and puts them into ``benchmarks/results/mutants.json``; ``tools/equivalent.json`` says
which survivors no test could tell from the original, and why. A verdict of 'equivalent' holds for the changed line it
names, wherever mutmut numbers it.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from importlib.metadata import version
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
SECONDS = 10.0
STATS = Path("mutmut-stats.json")  # in the folder where mutmut runs tests, once it knows how long they take
LASTS: dict[str, float] = json.loads(STATS.read_text())["duration_by_test"] if STATS.exists() else {}
KILLED = {1: "killed", 3: "killed", 2: "killed", 255: "killed"}  # a test failed; or could not even be imported
VERDICTS = KILLED | {0: "survived", 33: "survived", 5: "survived", None: "not tried"}  # 33, 5: no test calls it

pytest.Item._nodeid = property(lambda item: item.nodeid)  # type: ignore[attr-defined]  # mutmut 3.8 asks pytest 9.2 for it


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.option.collectonly:  # mutmut asks which tests there are
        return
    items.sort(key=lambda item: LASTS.get(item.nodeid, 0.0))
    total = accumulate(LASTS.get(item.nodeid, 0.0) for item in items)
    items[:] = [item for item, seconds in zip(items, total, strict=True) if seconds <= SECONDS]


def changed(mutant: str, path: Path) -> tuple[str, str]:
    """The line that a mutant changes, before and after."""
    from mutmut.mutation.diff_apply import get_diff_for_mutant

    lines = get_diff_for_mutant(mutant, path=path).splitlines()[2:]
    old, new = ([line[1:].strip() for line in lines if line.startswith(sign)] for sign in "-+")
    return " ".join(old), " ".join(new)


def verdicts(folder: Path) -> tuple[dict[str, Counter[str]], list[dict[str, str]]]:
    """How many mutants of each file ended how, and those that survived."""
    known = json.loads((ROOT / "tools" / "equivalent.json").read_text())
    why = {tuple(mutant): group["why"] for group in known for mutant in group["mutants"]}
    files: dict[str, Counter[str]] = {}
    left: list[dict[str, str]] = []
    for meta in sorted((folder / "src").rglob("*.meta")):
        path = meta.relative_to(folder).with_suffix("")
        name = str(path.relative_to("src/softground"))
        for mutant, code in json.loads(meta.read_text())["exit_code_by_key"].items():
            verdict = VERDICTS.get(code, "timeout")
            if verdict == "survived":
                old, new = changed(mutant, path)
                reason = why.get((name, old, new))
                verdict = "survived" if reason is None else "equivalent"
                left.append({"file": name, "was": old, "became": new} | ({"equivalent": reason} if reason else {}))
            files.setdefault(name, Counter())[verdict] += 1
    return files, left


def main(title: str = "all rooms") -> None:
    from benchmarks.provenance import page_text, provenance

    files, left = verdicts(Path("mutants"))
    total = sum(files.values(), Counter[str]())
    told = total["killed"] + total["timeout"] + total["survived"]
    record: dict[str, Any] = provenance() | {
        "command": "make mutants",
        "rooms": sorted({name.partition("/")[0] for name, count in files.items() if count.keys() - {"not tried"}}),
        "mutants": sum(total.values()),
        **{verdict: total[verdict] for verdict in ("killed", "timeout", "survived", "equivalent", "not tried")},
        "score": round(100 * (total["killed"] + total["timeout"]) / max(1, told), 1),  # of those not equivalent
        "raw_score": round(100 * (total["killed"] + total["timeout"]) / max(1, told + total["equivalent"]), 1),
        "files": {name: dict(sorted(count.items())) for name, count in files.items()},
        "left": left,
        "mutmut": version("mutmut"),
    }
    path = ROOT / "benchmarks" / "results" / "mutants.json"
    page = {"runs": json.loads(path.read_text())["runs"] | {title: record}}
    path.write_text(page_text(page))
    print({name: value for name, value in record.items() if isinstance(value, int | float)})


if __name__ == "__main__":
    main(*sys.argv[1:])
