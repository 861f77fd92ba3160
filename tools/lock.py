"""Write requirements.txt anew: `make lock`, after a change of a version there or of pyproject.toml's lists.

pip resolves ``.[dev]`` and what builds the package under those versions; the index's page of each release (PEP 503)
gives the sha256 of every wheel that fits a supported Python and platform. Source distributions are left out, since what
builds them could not be hashed. So is torch: its CPU and CUDA builds are different files of the same version.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from itertools import product
from pathlib import Path
from tempfile import NamedTemporaryFile
from urllib.request import urlopen

ROOT = Path(__file__).resolve().parent.parent
UNHASHED = re.compile(r"torch|triton|(nvidia|cuda)-.*")  # torch, and what its CUDA build brings
MINORS = (11, 12, 13, 14)
PLATFORMS = {  # the end of sysconfig's SOABI, and the wheels that fit there
    "x86_64-linux-gnu": ("any", "manylinux*_x86_64"),
    "aarch64-linux-gnu": ("any", "manylinux*_aarch64"),
    "darwin": ("any", "macosx_*_arm64", "macosx_*_universal2"),  # torch has no wheels for other Macs
}
HEAD = """\
# The exact versions that the tests and the published numbers were made with. After a change of a version, `make lock`
# (tools/lock.py) writes this file anew, with the sha256 of every wheel that {index} lists, and
# `make audit` checks the licences. importlib-metadata stays below 10.2, which needs a package that is weeks old and
# names neither author nor repository. What `make test` installs has hashes, which fit these Pythons and platforms:"""
TAIL = "# Without hashes: torch, whose CPU and CUDA builds are different files of one version, and what no test needs:"


def pins() -> dict[str, str]:
    """The versions in requirements.txt, of packages with and without hashes."""
    return dict(re.findall(r"^(?:# )?([a-z\d.-]+)==(\S+)", (ROOT / "requirements.txt").read_text(), re.M))


def resolved() -> dict[str, tuple[str, str]]:
    """Name, version and the sha256 of the file that pip would install here, of everything that has a hash."""
    if sys.version_info[:2] != (3, MINORS[0]):
        sys.exit(f"This is Python {sys.version.split()[0]}; lock with 3.{MINORS[0]}, the oldest, which needs the most.")
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    ask = ["install", "--quiet", "--dry-run", "--ignore-installed", "--report", "-"]
    with NamedTemporaryFile("w", suffix=".txt") as file:
        file.write("\n".join(f"{name}=={version}" for name, version in pins().items()))
        file.flush()
        command = [sys.executable, "-m", "pip", *ask, "-c", file.name, *build, "-e", ".[dev]"]
        report = json.loads(subprocess.check_output(command, cwd=ROOT))
    found = {}
    for item in report["install"]:
        name = re.sub(r"[-_.]+", "-", item["metadata"]["name"]).lower()
        if name != "softground" and not UNHASHED.fullmatch(name):
            found[name] = item["metadata"]["version"], item["download_info"]["archive_info"]["hashes"]["sha256"]
    return dict(sorted(found.items()))


def wheels(index: str, name: str, version: str) -> dict[str, str]:
    """File name and sha256 of a release's wheels."""
    with urlopen(f"{index}/{name}/") as answer:
        links = re.findall(r'href="[^"]*/([^"/]+\.whl)#sha256=([0-9a-f]{64})"', answer.read().decode())
    return {file: sha256 for file, sha256 in links if file.split("-")[1] == version}


def fits(wheel: str, minor: int, platform: str) -> bool:
    """Whether a wheel can be installed, by the tags in its name (PEP 425)."""
    python, abi, places = wheel.removesuffix(".whl").split("-")[-3:]
    older = [f"cp3{m}" for m in range(2 if abi == "abi3" else minor, minor + 1)]
    right = not {"py3", *older}.isdisjoint(python.split(".")) and abi in ("none", "abi3", f"cp3{minor}")
    return right and any(fnmatch(place, pattern) for place in places.split(".") for pattern in PLATFORMS[platform])


def main(index: str = "https://pypi.org/simple") -> None:
    everywhere, lines = list(product(MINORS, PLATFORMS)), []
    covered, hashed = set(everywhere), resolved()
    for name, (version, chosen) in hashed.items():
        files = wheels(index, name, version)
        places = {place: {file for file in files if fits(file, *place)} for place in everywhere}
        hashes = sorted({files[file] for fitting in places.values() for file in fitting})
        if chosen not in hashes:
            sys.exit(f"{name} {version}: pip takes a file with sha256 {chosen}, which {index} does not list.")
        covered -= {place for place, fitting in places.items() if not fitting}
        lines.append(" \\\n".join([f"{name}=={version}", *(f"    --hash=sha256:{sha256}" for sha256 in hashes)]))
    fit = [f"# fits cpython-3{minor}-{platform}" for minor, platform in sorted(covered)]
    rest = [f"# {name}=={version}" for name, version in sorted(pins().items()) if name not in hashed]
    text = "\n".join([HEAD.format(index=index), *fit, "--only-binary :all:", *lines, TAIL, *rest, ""])
    (ROOT / "requirements.txt").write_text(text)


if __name__ == "__main__":
    main(*sys.argv[1:])
