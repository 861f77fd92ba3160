"""What a forger of run folders can do: change anything in one, and give it a digest that fits."""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from softground.runs import RunFolder, checkpoint
from softground.runs.folder import CONFIG_DIGEST

SCRIPT = "</script></title></style>\"'><script>alert(1)</script><img src=x onerror=alert(1)><a href=javascript:x()>"
ESCAPE = "\x1b]0;owned\x07\x1b[2J"
PLACE = ("data_dir", "logger")  # what is not the recipe's, but says where a run happens
HUGE = 10**4000  # as many digits as Python reads
Payload = Callable[[Path, Path], None]


class Bomb:
    """Leaves a trace when it is unpickled."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.trace),)


@dataclass(frozen=True)
class Forged:
    """A run folder with a pen."""

    run: Path

    def current(self) -> Path:
        """The current checkpoint's file."""
        return max(self.run.glob("checkpoint-*.safetensors"))

    def gone(self) -> Path:
        """The path of the current checkpoint's file, which is no longer there."""
        path = self.current()
        path.unlink()
        return path

    def disguise(self, data: bytes) -> None:
        """Make ``data`` the current checkpoint, under a name that fits."""
        self.rename(checkpoint.digest(data)).write_bytes(data)

    def rename(self, digest: str) -> Path:
        """Give the current checkpoint's file another digest."""
        path = self.current()
        return path.rename(path.with_name(f"{path.name[:20]}{digest}.safetensors"))

    def header(self, header: bytes, body: bytes = b"", length: int | None = None) -> None:
        """Make a safetensors file of any header the current checkpoint."""
        self.disguise((len(header) if length is None else length).to_bytes(8, "little") + header + body)

    def meta(self, text: str) -> None:
        """Make any text the meta of the current checkpoint, its tensors unchanged."""
        tensors, _ = checkpoint.load(self.run)
        data = safetensors_of(tensors, text)
        self.disguise(data)

    def state(self, tensors: dict[str, Any] | None = None, **meta: Any) -> None:
        """Save the current checkpoint again, with some of it changed."""
        old, known = checkpoint.load(self.run)
        checkpoint.save(self.run, old | (tensors or {}), known | meta)

    def document(self, name: str, **change: Any) -> None:
        """Change a JSON document."""
        path = self.run / name
        path.write_text(json.dumps(json.loads(path.read_text()) | change))

    def config(self, task: str | None = None, **options: Any) -> None:
        """Change the settings, and the digest of them that the checkpoint has."""
        known = json.loads((self.run / "config.json").read_text())
        place = known["place"] | {name: options.pop(name) for name in PLACE if name in options}
        recipe = known["recipe"] | options if task is None else {"task": task, "problem": options}
        changed = {"task": recipe["task"], "recipe": recipe, "place": place}
        (self.run / "config.json").write_text(json.dumps(known | changed))
        self.state(**{CONFIG_DIGEST: RunFolder(self.run).config_digest()})


def safetensors_of(tensors: dict[str, Any], text: str) -> bytes:
    """A safetensors file with any meta."""
    import safetensors.torch

    return bytes(safetensors.torch.save(tensors, metadata={"softground": text}))


def many(name: str, count: int) -> bytes:
    """A header of very many tensors without numbers."""
    entry = '{"dtype":"F32","shape":[0],"data_offsets":[0,0]}'
    return ("{" + ",".join(f'"{name}{i}":{entry}' for i in range(count)) + "}").encode()


def zipped(name: str, size: int) -> bytes:
    """A small archive that unpacks to ``size`` bytes."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, bytes(size))
    return file.getvalue()


def torch_file(bomb: Bomb, **how: Any) -> bytes:
    """What ``torch.save`` makes of something that is executed when it is read."""
    file = io.BytesIO()
    torch.save({"network/weight": bomb}, file, **how)
    return file.getvalue()


def numpy_file(bomb: Bomb) -> bytes:
    """What numpy makes of it."""
    file = io.BytesIO()
    np.save(file, np.array([bomb], dtype=object), allow_pickle=True)
    return file.getvalue()


def linked(*names: str) -> Payload:
    """Links under names that a run writes, to a file of somebody else."""

    def payload(run: Path, outside: Path) -> None:
        for name in names:
            (run / name).unlink(missing_ok=True)
            (run / name).symlink_to(outside / "precious")

    return payload


def injected(run: Path, outside: Path) -> None:
    """Markup in every text that a report shows."""
    forged = Forged(run)
    config = json.loads((run / "config.json").read_text())
    config["before"] = {SCRIPT: 0.5, "symbol_accuracy": SCRIPT}
    (run / "config.json").write_text(json.dumps(config))
    forged.document(
        "summary.json",
        **{
            SCRIPT: SCRIPT,
            "task": SCRIPT,
            "note": SCRIPT,
            "versions": {SCRIPT: SCRIPT},
            f"after_stage_{SCRIPT}": {SCRIPT: 0.5},
            "seed": SCRIPT,
        },
    )
    lines = (run / "gallery.jsonl").read_text().splitlines()
    texts = [[SCRIPT] * 3]
    wild = json.loads(lines[-1]) | {"stage": SCRIPT, "predicted": texts * 6, "grounded": texts * 6, "epochs": 1}
    (run / "gallery.jsonl").write_text("\n".join([*lines, json.dumps(wild), ""]))
    report = json.loads((run / "report.json").read_text())
    report["symbols"] = [SCRIPT] * len(report["symbols"])
    report["renamed"] = {SCRIPT: SCRIPT}
    for shown in report["watched"] + report["looked_at"]:
        shown |= {"answer": SCRIPT, "gives": SCRIPT, "truth": [SCRIPT] * 3, "predicted": [SCRIPT] * 3}
        shown["input"] = {"text": SCRIPT, "images": [SCRIPT], "ink": True}
    for matrix in report["matrices"]:
        matrix |= {"rows": SCRIPT, "columns": SCRIPT, "data": SCRIPT}
    (run / "report.json").write_text(json.dumps(report))


def pipe(name: str) -> Payload:
    """A pipe that nobody writes into, in place of a file."""

    def payload(run: Path, outside: Path) -> None:
        (run / name).unlink(missing_ok=True)
        os.mkfifo(run / name)

    return payload


def sparse(run: Path, outside: Path) -> None:
    """A checkpoint that is one terabyte of nothing."""
    os.truncate(Forged(run).current(), 2**40)


def logged(run: Path, outside: Path) -> None:
    """Logs that would go to another folder."""
    Forged(run).config(logger="tensorboard")
    (run / "tensorboard").symlink_to(outside)


def broken_weights(run: Path) -> Any:
    """Weights that are not numbers."""
    tensors, _ = checkpoint.load(run)
    return {n: torch.full_like(t, float("nan")) for n, t in tensors.items() if n.startswith("network/") and t.dim() > 1}


def chains(run: Path, symbol: int) -> Any:
    """Groundings by symbols that there are not."""
    tensors, _ = checkpoint.load(run)
    return {n: torch.full_like(t, symbol) for n, t in tensors.items() if n.endswith("/chains")}


def optimiser(run: Path, outside: Path) -> None:
    """A learning rate that is a word, in a checkpoint from which a stage would go on."""
    meta = checkpoint.load(run)[1]
    for group in meta["optimizer"]["param_groups"]:
        group["lr"] = "__import__('os').system('true')"
    Forged(run).state(optimizer=meta["optimizer"], epoch=0)


__all__ = [
    "ESCAPE",
    "HUGE",
    "SCRIPT",
    "Bomb",
    "Forged",
    "Payload",
    "broken_weights",
    "chains",
    "injected",
    "linked",
    "logged",
    "many",
    "numpy_file",
    "optimiser",
    "pipe",
    "sparse",
    "torch_file",
    "zipped",
]
