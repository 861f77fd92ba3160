"""Nothing asks another machine for anything: not importing, not training, and not the report when it is opened.

CPython reports every connection and every look-up of a name to the audit hooks (PEP 578), so that a hook sees those of
all libraries written in Python, even where they swallow the error. It comes by way of
``sitecustomize``, and so into every Python that a run starts.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from softground.report.html.page import SIFT

ROOT = Path(__file__).resolve().parent.parent

GUARD = """
import os, sys

LOCAL = {"localhost", "127.0.0.1", "::1", "0.0.0.0", "::", ""}

def guard(event, args):
    if event in ("socket.connect", "socket.sendto", "socket.sendmsg"):
        host = args[1][0] if isinstance(args[1], tuple) else ""  # anything else is a socket of this machine
    elif event in ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"):
        host = args[0] or ""
    else:
        return
    host = host.decode() if isinstance(host, bytes) else host
    if host not in LOCAL:
        with open(os.environ["ATTEMPTS"], "a") as attempts:
            print(event, host, file=attempts)
        raise PermissionError(f"{event} {host}: a test forbids the network")

sys.addaudithook(guard)
"""

USE = """
import importlib, pkgutil, sys
from pathlib import Path
from PIL import Image
import softground
for module in pkgutil.walk_packages(softground.__path__, "softground."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)

from cli_cases import TINY, hurry
from softground.cli import main
folder = Path(sys.argv[1])
run = str(folder / "run")
images = [str(folder / f"{site}.png") for site in range(5)]
for image in images:
    Image.new("L", (8, 8), 100).save(image)
small = ["--preset", "paper", "--epochs", "1", "--zero-epochs", "1", "--train-size", "8", "--quiet"]
for _ in hurry():
    assert main([*TINY, *small, "--inverse", "z3", "--out", run]) == 0
    assert main(["evaluate", run, "--device", "cpu"]) == 0
    assert main(["predict", run, *images, "--device", "cpu"]) == 0
    assert main(["report", run]) == 0
"""

ATTEMPTS = """
import socket, subprocess, sys, urllib.request

def swallowed(attempt, *arguments):
    try:
        attempt(*arguments)
    except OSError:
        pass

swallowed(socket.create_connection, ("192.0.2.1", 80))
swallowed(socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto, b"?", ("192.0.2.2", 53))
swallowed(socket.gethostbyname, "a.invalid")
swallowed(urllib.request.urlopen, "https://b.invalid/data.zip")
subprocess.run([sys.executable, "-c", "import socket; socket.gethostbyname('c.invalid')"], capture_output=True)
here = socket.create_server(("127.0.0.1", 0))
socket.create_connection(here.getsockname()).close()
"""


def guarded(code: str, folder: Path) -> list[str]:
    """Run code with the network forbidden; what it tried to reach."""
    (folder / "sitecustomize.py").write_text(GUARD)
    (folder / "attempts.txt").touch()
    path = os.pathsep.join(map(str, (folder, ROOT / "src", ROOT / "tests" / "support")))
    environment = {name: value for name, value in os.environ.items() if "proxy" not in name.lower()}
    environment |= {"PYTHONPATH": path, "OMP_NUM_THREADS": "1", "ATTEMPTS": str(folder / "attempts.txt")}
    done = subprocess.run([sys.executable, "-c", code, str(folder)], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return (folder / "attempts.txt").read_text().splitlines()


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], Path]:
    """The package in use, from its import to the report: what it tried to reach, and the run's folder."""
    folder = tmp_path_factory.mktemp("network")
    return guarded(USE, folder), folder / "run"


def test_no_use_of_the_package_reaches_for_another_machine(used: tuple[list[str], Path]) -> None:
    attempts, run = used
    assert attempts == []
    assert (run / "summary.json").is_file()


def test_an_attempt_is_seen_even_if_its_error_is_swallowed(tmp_path: Path) -> None:
    attempts = guarded(ATTEMPTS, tmp_path)
    assert [attempt.split()[1] for attempt in attempts] == ["192.0.2.1", "192.0.2.2", *(f"{x}.invalid" for x in "abc")]


class Loaded(HTMLParser):
    """What a browser would load for a page; a link that a reader may follow is not loaded."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found = re.findall(r"(?:url\(|@import)\s*['\"]?([^'\"\s)]*)", page)
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        loading = {"src", "srcset", "data", "poster", "action", "formaction", "background", "manifest", "xlink:href"}
        self.found += [value or "" for name, value in attrs if name in loading or (name == "href" and tag != "a")]
        self.found += [tag] * (tag in ("script", "iframe", "object", "embed", "base"))


def outside(page: str) -> list[str]:
    return [place for place in Loaded(page).found if not place.startswith(("data:", "#"))]


def test_a_report_loads_nothing_from_outside(used: tuple[list[str], Path]) -> None:
    page = (used[1] / "report.html").read_text(encoding="utf-8")
    assert "data:image/png" in page
    assert "fetch" not in SIFT
    assert outside(page.replace(f"<script>{SIFT}</script>", "", 1)) == []


@pytest.mark.parametrize(
    "page",
    [
        '<img src="https://a.invalid/x.png">',
        '<link rel="stylesheet" href="//a.invalid/x.css">',
        "<style>@import 'https://a.invalid/x.css';</style>",
        '<p style="background: url(http://a.invalid/x.png)">',
        "<script>fetch('https://a.invalid')</script>",
    ],
)
def test_a_page_that_loads_something_is_noticed(page: str) -> None:
    assert outside(page)
    assert outside('<a href="https://a.invalid">a link</a> <img src="data:image/png;base64,AA">') == []
