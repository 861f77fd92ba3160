"""`make wheel`: build the wheel, and try it in an environment of its own, away from the sources.

By default that environment borrows the packages that are installed here, and the extras among them are tried. With
``--fresh`` the wheel is installed with every extra, by uv where there is one, in the versions of requirements.txt and
by the options that follow.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import venv
from importlib.util import find_spec
from pathlib import Path

from .lock import pins

ROOT = Path(__file__).resolve().parent.parent
EXTRAS = {  # what each extra is imported for
    "circuits": ("pysdd.sdd",),
    "dev": ("hypothesis", "mypy", "pytest", "xdist"),
    "docs": ("latex2mathml", "material", "mkdocs", "mkdocstrings"),
    "frames": ("accelerate", "lightning", "skorch", "transformers"),
    "mutants": ("mutmut",),
    "onnx": ("onnx", "onnxruntime", "onnxscript"),
    "plots": ("matplotlib.pyplot",),
    "rules": ("cpmpy", "ortools.sat.python.cp_model"),
    "tensorboard": ("tensorboard", "torch.utils.tensorboard"),
}
TRAIN = "train hwf --data digits --image-size 8 --lengths 1 --train-size 64 --test-size 32 --epochs 1 --out run"
COMMANDS = ("--version", "tasks", TRAIN, "evaluate run")


def environment(folder: Path, wheel: Path, extras: list[str], *options: str) -> Path:
    """The commands of a new environment with the wheel and extras, or, without any, beside what is installed here."""
    venv.create(folder, symlinks=True)
    python, uv = folder / "bin" / "python", shutil.which("uv")
    if extras:
        versions = folder / "versions.txt"
        versions.write_text("".join(f"{name}=={version}\n" for name, version in pins().items()))
        what = [*options, "-c", versions, f"{wheel}[{','.join(extras)}]"]
    else:  # a line of a .pth file adds a folder, but not what its own .pth files add: our sources
        (site,) = folder.glob("lib/python*/site-packages")
        (site / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
        what = ["--no-deps", wheel]
    if uv:
        subprocess.run([uv, "pip", "install", "--quiet", "--python", python, *what], check=True)
    else:
        subprocess.run([sys.executable, "-m", "pip", "--python", python, "install", "--quiet", *what], check=True)
    return python.parent


def here(modules: tuple[str, ...]) -> bool:
    return all(find_spec(module.partition(".")[0]) for module in modules)


def main(fresh: bool, *options: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", place]
        subprocess.run(build, cwd=ROOT, check=True)
        (wheel,) = place.glob("*.whl")
        tried = [extra for extra, modules in EXTRAS.items() if fresh or here(modules)]
        commands = environment(place / "env", wheel, tried if fresh else [], *options)
        where = "import softground, sys; assert softground.__file__.startswith(sys.prefix), softground.__file__"
        imports = "; ".join(f"import {module}" for extra in tried for module in EXTRAS[extra])
        calls = [[commands / "python", "-c", code] for code in (where, imports)]
        lines = [*COMMANDS, *["export run"] * ("onnx" in tried)]
        calls += [[commands / "softground", *line.split()] for line in lines]
        for call in calls:
            subprocess.run(call, cwd=place, check=True, stdout=subprocess.DEVNULL, env=os.environ | {"PYTHONPATH": ""})
        print(f"{wheel.name} works, with the extras {', '.join(tried)}.")
        if left := sorted(EXTRAS.keys() - set(tried)):
            print(f"Not installed here, and so not tried without FRESH=1: {', '.join(left)}.")


if __name__ == "__main__":
    main(sys.argv[1:2] == ["--fresh"], *sys.argv[2:])
