"""``softground new-task NAME``: a template for your own task, and its test."""

import keyword
import sys
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Annotated

import tyro

from ..errors import SoftgroundError

TEMPLATES = {"task.py.txt": "{}.py", "test.py.txt": "test_{}.py"}


@dataclass(frozen=True)
class Command:
    """Write NAME.py, a small working task for you to change, and test_NAME.py."""

    name: Annotated[str, tyro.conf.Positional]
    """The task's name, a Python name such as receipts."""
    out: Path = Path()
    """The folder to write to (default: this one)."""

    def run(self) -> None:
        if not self.name.isidentifier() or keyword.iskeyword(self.name):
            raise SoftgroundError(
                f"{self.name!r} cannot be imported under that name; give letters, digits and _, such as my_task."
            )
        if self.name in sys.stdlib_module_names or self.name in ("softground", "torch", "pytest", "sklearn"):
            raise SoftgroundError(f"{self.name!r} is the name of an existing module; choose another.")
        paths = [self.out / file.format(self.name) for file in TEMPLATES.values()]
        if taken := [str(path) for path in paths if path.exists()]:
            raise SoftgroundError(f"{', '.join(taken)} exists; choose another name or --out. Nothing was written.")
        title = self.name.replace("_", " ").capitalize()
        for template, path in zip(TEMPLATES, paths, strict=True):
            text = (resources.files(__package__) / "templates" / template).read_text(encoding="utf-8")
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text.replace("@TITLE@", title).replace("@NAME@", self.name), encoding="utf-8")
            except OSError as error:
                raise SoftgroundError(f"{path} cannot be written: {error}. Choose another --out.") from error
            print(f"Wrote {path}")
