"""What make installs is pinned, hashed and licensed, and the files that say so agree with each other."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, PathDistribution, requires, version
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
if not (ROOT / "tools").is_dir():
    pytest.skip("the tools are not part of this distribution", allow_module_level=True)

from tools import licences, lock, wheel  # noqa: E402

PYPROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
EXTRAS: dict[str, list[str]] = PYPROJECT["project"]["optional-dependencies"]
BUILD = [Requirement(line) for line in PYPROJECT["build-system"]["requires"]]
CONSTRAINTS = lock.pins()
LOCKED = (ROOT / "requirements.txt").read_text()
PINS = dict(re.findall(r"^([\w.-]+)==(\S+) \\$", LOCKED, re.M))
FITS = re.findall(r"^# fits cpython-3(\d+)-(\S+)$", LOCKED, re.M)
ROW = re.compile(r"^\| ([\w.-]+) \| (\d\S*) \| ([^|]+) \| [^|]+ \|$", re.M)


def asked(*extras: str) -> list[Requirement]:
    """What pyproject.toml asks for, with extras that are made of other extras."""
    lines = [*PYPROJECT["project"]["dependencies"], *(line for extra in extras for line in EXTRAS[extra])]
    found = []
    for requirement in map(Requirement, lines):
        found += asked(*requirement.extras) if requirement.name == "softground" else [requirement]
    return found


def names(requirements: Iterable[Requirement]) -> set[str]:
    return {canonicalize_name(requirement.name) for requirement in requirements}


def closure(requirements: Iterable[Requirement], place: dict[str, str]) -> set[str]:
    """With what they need in turn, as far as the packages installed here, in their pinned versions, can tell."""
    done: set[tuple[str, str]] = set()
    todo = list(requirements)
    while todo:
        requirement = todo.pop()
        for name, extra in {(canonicalize_name(requirement.name), extra) for extra in ("", *requirement.extras)} - done:
            done.add((name, extra))
            try:
                pinned = version(name).split("+")[0] == CONSTRAINTS.get(name)
            except PackageNotFoundError:
                continue
            inner = [Requirement(line) for line in requires(name) or ()] if pinned else []
            todo += [r for r in inner if r.marker is None or r.marker.evaluate(place | {"extra": extra})]
    return {name for name, _ in done if not licences.CUDA.fullmatch(name)}


def test_every_dependency_that_make_installs_is_pinned() -> None:
    wanted = names([*asked("dev", "docs", "mutants"), *BUILD])
    assert {"torch", "pytest", "mkdocs-material", "mutmut", "matplotlib", "hatchling"} <= wanted
    assert wanted <= CONSTRAINTS.keys()


def test_everything_locked_has_its_pinned_version_and_hashes() -> None:
    assert names([*asked("dev"), *BUILD]) - {"torch"} <= PINS.keys()
    entries = re.findall(r"^([\w.-]+)==\S+((?: \\\n    --hash=sha256:[0-9a-f]{64})+)$", LOCKED, re.M)
    assert [name for name, _ in entries] == sorted(PINS)
    rest = [line for line in LOCKED.splitlines() if not re.match(r"#|    --hash|[\w.-]+==", line)]
    assert rest == ["--only-binary :all:"]


def test_every_extra_is_tried_with_the_wheel() -> None:
    assert wheel.EXTRAS.keys() == EXTRAS.keys()


def made(*arguments: str) -> str:
    """What make says, or, with -n, would do."""
    command, outside = ["make", *arguments], {k: v for k, v in os.environ.items() if not k.startswith("MAKE")}
    return subprocess.run(command, cwd=ROOT, env=outside, capture_output=True, text=True, check=True).stdout


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_uv_and_pip_install_the_same_lock(tmp_path: Path) -> None:
    lock = "install .*--require-hashes --no-deps -r requirements.txt"
    ways = {
        uv: made("-n", f"UV={uv}", "PYTHON=python3", f"VENV={tmp_path}", f"{tmp_path}/.installed")
        for uv in ("/some/uv", "")
    }
    assert re.search(f"then /some/uv pip {lock}", ways["/some/uv"])
    assert re.search(f"then {tmp_path}/bin/python -m pip .*{lock}", ways[""])


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_a_python_that_is_not_installed_is_left_out_of_the_matrix() -> None:
    assert made("matrix", "MATRIX=3.0") == "Python 3.0: skipped, not installed\n"


def test_torch_has_no_hash() -> None:
    assert "torch" in CONSTRAINTS
    assert not [name for name in PINS if lock.UNHASHED.fullmatch(name)]


@pytest.mark.parametrize(("minor", "platform"), FITS, ids=str)
def test_nothing_is_missing_where_the_locked_file_fits(minor: str, platform: str) -> None:
    system, machine = ("darwin", "arm64") if platform == "darwin" else ("linux", platform.split("-")[0])
    place = {"python_version": f"3.{minor}", "python_full_version": f"3.{minor}.0", "platform_machine": machine}
    place |= {"sys_platform": system, "platform_system": system.title()}
    assert closure([*asked("dev"), *BUILD], place) - {"torch"} <= PINS.keys()


def test_ours_is_among_the_places_that_fit() -> None:
    assert ("11", "x86_64-linux-gnu") in FITS


@pytest.mark.parametrize(
    ("wheel", "minors"),
    [
        ("a-1-py3-none-any.whl", [11, 12, 13, 14]),
        ("a-1-py2.py3-none-manylinux1_x86_64.whl", [11, 12, 13, 14]),
        ("a-1-cp312-cp312-manylinux_2_27_x86_64.manylinux_2_28_x86_64.whl", [12]),
        ("a-1-2-cp312-abi3-manylinux_2_28_x86_64.whl", [12, 13, 14]),
        ("a-1-cp314-cp314t-manylinux_2_28_x86_64.whl", []),
        ("a-1-cp312-cp312-musllinux_1_2_x86_64.whl", []),
        ("a-1-cp312-cp312-macosx_14_0_arm64.whl", []),
        ("a-1-py2-none-any.whl", []),
    ],
)
def test_which_wheels_fit(wheel: str, minors: list[int]) -> None:
    assert [minor for minor in lock.MINORS if lock.fits(wheel, minor, "x86_64-linux-gnu")] == minors


def test_locking_leaves_out_what_does_not_fit_and_notices_another_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "requirements.txt").write_text("a==1\n# b==2\n")
    files = {"a-1-cp311-cp311-manylinux1_x86_64.whl": "e" * 64, "a-1-cp311-cp311-win_amd64.whl": "f" * 64}
    monkeypatch.setattr(lock, "ROOT", tmp_path)
    monkeypatch.setattr(lock, "resolved", lambda: {"a": ("1", "e" * 64)})
    monkeypatch.setattr(lock, "wheels", lambda index, name, version: files)
    lock.main()
    text = (tmp_path / "requirements.txt").read_text()
    assert re.findall("^# fits .*", text, re.M) == ["# fits cpython-311-x86_64-linux-gnu"]
    assert f"\na==1 \\\n    --hash=sha256:{'e' * 64}\n" in text
    assert text.endswith("\n# b==2\n")
    assert lock.pins() == {"a": "1", "b": "2"}
    files["a-1-cp311-cp311-manylinux1_x86_64.whl"] = "d" * 64
    with pytest.raises(SystemExit, match=f"a 1: pip takes a file with sha256 {'e' * 64}"):
        lock.main()


@pytest.mark.parametrize(
    ("expression", "permitted"),
    [
        ("MIT", True),
        ("BSD-3-Clause AND MIT", True),
        ("GPL-3.0-only OR Apache-2.0", True),
        ("(MIT OR GPL-3.0-only) AND (0BSD AND Apache-2.0 WITH LLVM-exception)", True),
        ("", False),
        ("GPL-3.0-or-later WITH GCC-exception-3.1", False),
        ("MIT AND LGPL-2.1-only", False),
        ("MIT AND (GPL-3.0-only OR AGPL-3.0-only)", False),
        ("LicenseRef-NVIDIA-Proprietary", False),
        ("(MIT", False),
    ],
)
def test_which_licences_are_permitted(expression: str, permitted: bool) -> None:
    assert licences.allowed(expression) is permitted


@pytest.mark.parametrize(
    ("metadata", "text", "licence"),
    [
        ("License-Expression: ISC\nLicense: GPL", "", "ISC"),
        ("License: Apache 2.0", "", "Apache-2.0"),
        ("License: BSD-2-Clause\nClassifier: License :: OSI Approved :: BSD License", "", "BSD-2-Clause"),
        ("Classifier: License :: OSI Approved :: MIT License\nClassifier: License :: Other", "", "MIT AND Other"),
        ("License: BSD", "Redistributions in binary form …\nNeither the\nname of …", "BSD-3-Clause"),
        ("License: something", "Permission is hereby granted, free of\ncharge, to any person", "MIT"),
        ("License: something", "All rights reserved.", ""),
        ("Summary: none", "", ""),
    ],
)
def test_what_a_package_says_of_its_licence(tmp_path: Path, metadata: str, text: str, licence: str) -> None:
    folder = tmp_path / "a-1.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(f"Metadata-Version: 2.4\nName: a\nVersion: 1\n{metadata}\n")
    (folder / "LICENSE").write_text(text)
    (folder / "RECORD").write_text("a-1.dist-info/METADATA,,\na-1.dist-info/LICENSE,,\n")
    assert licences.licence(PathDistribution(folder)) == licence


def test_the_audit_stops_at_a_licence_that_is_not_permitted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(licences, "needed", lambda *roots: {"softground": set(), "pytest": {"softground"}})
    licences.main()
    assert re.search(r"\| pytest \| \S+ \| MIT \| softground \|", capsys.readouterr().out)
    monkeypatch.setattr(licences, "licence", lambda package: "AGPL-3.0-only")
    with pytest.raises(SystemExit, match="licences"):
        licences.main()
    assert "AGPL-3.0-only" in capsys.readouterr().out
