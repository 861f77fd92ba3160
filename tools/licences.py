"""Print the licences of what is installed, or fail: `make audit`.

A package's licence is its License-Expression, else its License field or its classifiers where they are words this file
knows, else the text of its licence file. One that stays unknown, or is not permitted, ends the audit.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

CUDA = re.compile(r"(nvidia|cuda)-.*|triton")  # only with torch's CUDA build
LICENCE_FILE = re.compile(r"\.dist-info/.*(licen[cs]e|copying)", re.I)

PERMITTED = {  # they ask for no more than that their notice is kept …
    *("0BSD", "Apache-2.0", "BSD", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0", "CC0-1.0", "HPND", "ISC", "MIT"),
    *("MIT-CMU", "PSF", "PSF-2.0", "Python-2.0", "Unlicense", "Zlib"),
    "MPL-2.0",  # … and this one for the source of its own files where they are changed: we change none
}
SAID = {  # the words of classifiers and License fields, in SPDX's
    "3-Clause BSD License": "BSD-3-Clause",
    "Apache 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD",
    "Historical Permission Notice and Disclaimer (HPND)": "HPND",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF",
}
TEXTS = (  # what only one licence's text says, in its first lines
    ("Permission is hereby granted, free of charge", "MIT"),
    ("Apache License Version 2.0", "Apache-2.0"),
    ("Neither the name", "BSD-3-Clause"),
    ("Redistributions in binary form", "BSD-2-Clause"),
)
BUNDLED = {  # libraries that wheels carry beside their own code, under other terms
    "libgfortran": "GPL-3.0-or-later WITH GCC-exception-3.1",
    "libgomp": "GPL-3.0-or-later WITH GCC-exception-3.1",
    "libquadmath": "LGPL-2.1-or-later",
}


def licence(package: Distribution) -> str:
    """What a package is licensed under, as an SPDX expression; empty if that cannot be told."""
    told = package.metadata
    if "License-Expression" in told:
        return str(told["License-Expression"])
    field = str(told["License"] or "")
    classifiers = [c.split(" :: ")[-1] for c in told.get_all("Classifier") or [] if c.startswith("License :: ")]
    words = [field] if SAID.get(field, field) in PERMITTED else classifiers
    known = " AND ".join(SAID.get(word, word) for word in words)
    return (_by_text(package, field) or known) if known in ("", "BSD") else known


def _by_text(package: Distribution, field: str) -> str:
    named = [file for file in package.files or () if LICENCE_FILE.search(str(file))]
    texts = [field, *(Path(str(file.locate())).read_text(errors="replace") for file in named)]
    for text in (" ".join(text[:2500].split()) for text in texts):
        for sign, name in TEXTS:
            if sign in text:
                return name
    return ""


def allowed(expression: str) -> bool:
    """Whether all that an SPDX expression asks for is permitted, with a free choice at each OR."""
    while inner := re.search(r"\(([^()]*)\)", expression):
        expression = expression.replace(inner[0], "MIT" if allowed(inner[1]) else "refused")
    # An exception (WITH …) only takes away from what a licence asks for.
    choices = re.sub(r" WITH \S+", "", expression).split(" OR ")
    return any(PERMITTED.issuperset(map(str.strip, choice.split(" AND "))) for choice in choices)


def needed(*roots: str) -> dict[str, set[str]]:
    """Everything that the roots need on this machine, directly or not, with the packages that ask for it."""
    found: dict[str, set[str]] = {}
    done: set[tuple[str, str]] = set()
    todo = [(Requirement(root), "") for root in roots]
    while todo:
        requirement, asker = todo.pop()
        name = canonicalize_name(requirement.name)
        if not CUDA.fullmatch(name):
            found.setdefault(name, set()).update({asker} - {"", name})
        for extra in {"", *requirement.extras}:
            if (name, extra) in done:
                continue
            done.add((name, extra))
            inner = map(Requirement, distribution(name).requires or ())
            todo += [(r, name) for r in inner if r.marker is None or r.marker.evaluate({"extra": extra})]
    return found


def table(names: Iterable[str], askers: dict[str, set[str]], licences: dict[str, str]) -> str:
    """One row a package."""
    lines = ["| package | version | licence | needed by |", "| --- | --- | --- | --- |"]
    for name in sorted(names):
        by = "softground" if "softground" in askers[name] else ", ".join(sorted(askers[name])) or "the build"
        lines.append(f"| {name} | {distribution(name).version.split('+')[0]} | {licences[name]} | {by} |")
    return "\n".join(lines) + "\n"


def bundled(names: Iterable[str]) -> str:
    """One row a library that wheels carry under terms of its own."""
    carriers: dict[str, set[str]] = {library: set() for library in BUNDLED}
    for name in names:
        for file in distribution(name).files or ():
            library = re.split(r"[-.]", file.name)[0]
            if library in BUNDLED:
                carriers[library].add(name)
    rows = [f"| {library} | {BUNDLED[library]} | {', '.join(sorted(by))} |" for library, by in carriers.items() if by]
    return "\n".join(["| library | licence | in the wheels of |", "| --- | --- | --- |", *rows]) + "\n"


def main() -> None:
    runtime, everything = needed("softground"), needed("softground[dev,docs]", "hatchling")
    del runtime["softground"], everything["softground"]
    licences = {name: licence(distribution(name)) for name in everything}
    refused = {name: said for name, said in licences.items() if not allowed(said)}
    for name, said in refused.items():
        print(f"{name} {distribution(name).version} states {said or 'no known licence'}, which is not permitted.")
    if refused:
        sys.exit("Use other packages, or read those licences and name them in tools/licences.py.")
    later = table(everything.keys() - runtime.keys(), everything, licences)
    print(f"## To run\n\n{table(runtime, runtime, licences)}\n## To develop, test and document\n\n{later}")
    print(f"## Libraries inside the wheels\n\n{bundled(runtime)}")
    print(f"{len(everything)} packages, {len(runtime)} of them to run softground: all licences are permitted.")


if __name__ == "__main__":
    main()
