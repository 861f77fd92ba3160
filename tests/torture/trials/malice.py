"""Malicious checkpoints and run folders, through every command that reads them.

Each case is a process of its own that reports, by Python's audit hooks, what it opened for writing, removed, renamed,
unpickled or started; its memory is measured by the system. A guard in another folder shows what was touched outside.
"""

from __future__ import annotations

import html.parser
import os
import random
import re
import shutil
import sys
from functools import partial
from pathlib import Path
from typing import Any

import torch

from softground import errors
from softground.cli import main
from softground.errors import SoftgroundError
from softground.report.html.page import SIFT
from softground.runs import RunFolder

from ..trial import Tally, Trial
from ._commands import TRAIN, small_task, warm_up
from ._fork import Ended, forked
from ._pair import no_waiting
from ._payloads import PAYLOADS
from ._small import IMAGE, SITES

BOUND = 2**30  # bytes of memory that a case may take beyond what the process had before
ROOM = 2**33  # bytes of address space that it could take if nothing bounded it
SECONDS = 30
READERS: dict[str, list[str]] = {
    "load_checkpoint": [],
    "resume": ["resume", "RUN", "--quiet"],
    "evaluate": ["evaluate", "RUN", "--device", "cpu", "--json"],
    "predict": ["predict", "RUN", *["IMAGE"] * SITES, "--device", "cpu"],
    "report": ["report", "RUN"],
    "inspect": ["inspect", "hwf", "--data", "folder", "--data-dir", "RUN", "--quiet"],
}
STARTED = (
    "pickle.find_class",
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "os.fork",
    "subprocess.Popen",
    "exec",
    "compile",
)
WRITTEN = ("os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.symlink", "os.link", "os.truncate", "os.chmod")
MARK = "a forged run did this: "


def harm(run: Path) -> list[str]:
    """Listen for what must not happen, from now on; the list grows as it does."""
    heard: list[str] = []
    allowed = (f"{run.resolve()}{os.sep}", "/dev/null")

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event in STARTED and not _imported(event, arguments):
            heard.append(f"{event} {str(arguments)[:80]}")
        for path, followed in _written(event, arguments):
            place = os.path.realpath(path if followed else os.path.dirname(path))
            if not f"{place}{os.sep if not followed else ''}".startswith(allowed):
                heard.append(f"{event} {path}")

    sys.addaudithook(hook)
    return heard


def _written(event: str, arguments: tuple[Any, ...]) -> list[tuple[str, bool]]:
    """The paths that an event writes to, and whether a link there would be followed."""
    paths = arguments[:2] if event in ("os.rename", "os.link") else arguments[:1]
    named = [os.fsdecode(path) for path in paths if isinstance(path, str | bytes)]
    if event == "open":
        flags = arguments[2] if isinstance(arguments[2], int) else 0
        writes = flags & (os.O_WRONLY | os.O_RDWR)
        return [(path, not flags & (os.O_EXCL | os.O_NOFOLLOW)) for path in named] if writes else []
    return [(path, event in ("os.truncate", "os.chmod")) for path in named] if event in WRITTEN else []


def _imported(event: str, arguments: tuple[Any, ...]) -> bool:
    """Whether code is a module's or a library's own, rather than the folder's."""
    if event not in ("exec", "compile"):
        return False
    frame: Any = sys._getframe(2)
    while frame is not None:
        if frame.f_code.co_filename.endswith(("softground/runs/codec.py", "softground/files.py")):
            return frame.f_code.co_name == "typed_fields"  # our own annotations; nothing else while a file is read
        frame = frame.f_back
    return True


def read(reader: str, run: Path, image: Path, listen: bool = True) -> list[Any]:
    """Use a reader in this process: how it ended, and the harm that was done."""
    heard = harm(run) if listen else []
    if reader == "load_checkpoint":
        try:
            RunFolder.open(run).load_checkpoint()
            code = 0
        except SoftgroundError as error:
            print(f"softground: {type(error).__name__}: {error}", file=sys.stderr)
            code = 2
    else:
        arguments = [{"RUN": str(run), "IMAGE": str(image)}.get(word, word) for word in READERS[reader]]
        code = main(arguments)
    return [code, heard]


def examine(reader: str, ended: Ended, run: Path, outside: Path, before: dict[str, bytes]) -> None:
    """Raises where anything happened that must not."""
    assert not ended.trouble, f"not the library's own error: {ended.trouble.strip().splitlines()[-1]}"
    code, heard = ended.value
    assert not heard, MARK + "; ".join(heard[:5])
    assert contents(outside) == before, f"files outside were touched: {sorted(os.listdir(outside))}"
    assert code in (0, 2), f"exit code {code}"
    assert code == 0 or _own(ended.output), f"not the library's own error: {ended.output[-200:]}"
    assert "\x1b" not in ended.output, "the terminal was steered"
    assert ended.growth < BOUND, f"{ended.growth / 2**20:.0f} MiB of memory"
    if reader == "report" and code == 0:
        assert_inert((run / "report.html").read_text())


def _own(output: str) -> bool:
    """Whether a command ended with an error of the library's family."""
    kind = re.search(r"^softground: (\w+): ", output, re.MULTILINE)
    return kind is not None and issubclass(getattr(errors, kind[1], object), errors.SoftgroundError)


def contents(folder: Path) -> dict[str, bytes]:
    """The files of a folder."""
    return {path.name: path.read_bytes() if path.is_file() else b"" for path in folder.iterdir()}


class _Inert(html.parser.HTMLParser):
    """Refuses a page that runs or loads anything of somebody else's."""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag not in ("script", "iframe", "object", "embed", "base", "form"), f"the report has a <{tag}>"
        for name, value in attrs:
            assert not name.startswith("on"), f"the report has {name}={value!r}"
            harmless = value is None or re.match(r"#|data:image/", value)
            assert name not in ("src", "href", "action") or harmless, f"the report loads {value!r}"


def assert_inert(page: str) -> None:
    """Raises where a page does anything but show itself and filter its examples, by the library's script."""
    _Inert().feed(page.replace(f"<script>{SIFT}</script>", "", 1))


def prepare(folder: Path) -> tuple[Path, Path, Path]:
    """A finished run, an image to predict from, and a folder of somebody else."""
    from PIL import Image

    run, image, outside = folder / "pristine", folder / "image.png", folder / "outside"
    Image.fromarray((torch.rand(IMAGE[1:]) * 255).to(torch.uint8).numpy()).save(image)
    outside.mkdir()
    (outside / "precious").write_text("precious")
    ended = forked(lambda: main([*TRAIN, "--out", str(run)]), seconds=120)
    assert ended.value == 0, ended.trouble or ended.output
    return run, image, outside


def use_all(image: Path, run: Path) -> None:
    """Use every reader on a good run."""
    for reader in READERS:
        code = read(reader, run, image, listen=False)[0]
        assert code == (2 if reader == "inspect" else 0), f"{reader} of a good run ended with {code}"


def cases_of(count: int, seed: int) -> list[tuple[str, str]]:
    """Payloads and readers: every payload once before any comes again, and each time to another reader."""
    payloads, readers = list(PAYLOADS), list(READERS)
    random.Random(seed).shuffle(payloads)
    rounds = [
        (payload, readers[(place + shift) % len(readers)])
        for shift in range(len(readers))
        for place, payload in enumerate(payloads)
    ]
    return [rounds[i % len(rounds)] for i in range(count)]


def run(tally: Tally, cases: int, seed: int, folder: Path) -> None:
    """Hand every payload to every reader."""
    largest, refused = 0, 0
    with small_task(), no_waiting():
        pristine, image, outside = prepare(folder)
        before = contents(outside)
        victim = folder / "run"
        warm_up(partial(use_all, image), pristine, victim)
        for payload, reader in cases_of(cases, seed):
            shutil.copytree(pristine, victim)
            with tally.case(f"{payload}, {reader}"):
                PAYLOADS[payload](victim, outside)
                ended = forked(partial(read, reader, victim, image), SECONDS, ROOM)
                largest = max(largest, ended.growth)
                refused += bool(ended.value) and ended.value[0] == 2
                examine(reader, ended, victim, outside, before)
            shutil.rmtree(victim)
            if contents(outside) != before:
                shutil.rmtree(outside)
                outside.mkdir()
                (outside / "precious").write_text("precious")
    tally.notes |= {
        "payloads": len({payload for payload, _ in cases_of(cases, seed)}),
        "readers": len(READERS),
        "refused": refused,
        "memory": f"at most {largest / 2**20:.0f} MiB beyond the process's own, {BOUND / 2**20:.0f} allowed",
    }


TRIAL = Trial(
    key="malice",
    row=50,
    what="malicious checkpoints and run folders, every command",
    must_hold="nothing executed, bounded memory, a clear error",
    full=len(PAYLOADS) * len(READERS),
    short=24,
    run=run,
)
