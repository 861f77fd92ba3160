"""The window in a real browser, where there is one: drawing, dropping, an answer, phones, light and dark."""

from __future__ import annotations

import base64
import io
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
if BROWSER is None or os.name != "posix":
    pytest.skip("no chromium was found to draw with: make browser installs it", allow_module_level=True)
pytest.importorskip("starlette", reason="a window needs starlette and uvicorn, which are not installed")
pytest.importorskip("uvicorn", reason="a window needs starlette and uvicorn, which are not installed")

from softground.runs.folder import METRICS  # noqa: E402
from window_cases import LINES, TOKEN, Browser, picture, train, window  # noqa: E402

WIDE = """[...document.querySelectorAll('body *')].filter(e => !e.closest('.scroll')).filter(e => {
  const r = e.getBoundingClientRect(); return r.width && (r.right > innerWidth + 1 || r.left < -1);
}).map(e => e.tagName + '#' + e.id + '.' + e.className).slice(0, 5).join(' ')"""


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Browser, Path]]:
    """A browser that looks at a finished run through a window."""
    folder = tmp_path_factory.mktemp("browser")
    train(folder / "run")
    assert BROWSER is not None
    browser = Browser(BROWSER, folder / "profile", "--window-size=1280,1000")
    with window(folder / "run") as port:
        browser.tell("Page.enable")
        browser.tell("Page.navigate", url=f"http://127.0.0.1:{port}/{TOKEN}/")
        browser.wait("document.querySelectorAll('#slots .slot').length === 2")
        yield browser, folder / "run"
        browser.close()  # first: the server waits for its connections


def click(browser: Browser, name: str) -> None:
    browser.see(f"document.getElementById('{name}').click()")


def draw(browser: Browser, *digits: int) -> None:
    click(browser, "anew")
    for place, digit in enumerate(digits):
        if place:
            click(browser, "next")
        for line in LINES[digit]:
            browser.stroke("#canvas", *line)
    browser.wait("document.querySelectorAll('#slots .chance').length > 0")


def test_drawn_symbols_are_read(opened: tuple[Browser, Path]) -> None:
    browser, _ = opened
    draw(browser, 2, 0)
    told = browser.wait("document.querySelector('#told .sum')?.innerText")
    assert " ".join(told.split()) == "2 0 gives 4"
    assert browser.see("[...document.querySelectorAll('.slot b')].map(e => e.innerText).join()") == "2,0"
    click(browser, "clear")
    browser.wait("document.getElementById('told').innerText.includes('1 of 2 symbols drawn')")


def test_a_symbol_drawn_at_the_edge_is_read_as_one_in_the_middle(opened: tuple[Browser, Path]) -> None:
    browser, _ = opened
    click(browser, "anew")
    browser.stroke("#canvas", 0.1, 0.05, 0.1, 0.65)
    click(browser, "next")
    browser.stroke("#canvas", 0.35, 0.9, 0.95, 0.9)
    told = browser.wait("document.querySelector('#told .sum')?.innerText")
    assert " ".join(told.split()) == "0 1 gives 1"


def test_an_answer_shows_what_would_explain_it(opened: tuple[Browser, Path]) -> None:
    browser, _ = opened
    draw(browser, 1, 1)
    browser.see("(e => { e.value = '5'; e.dispatchEvent(new Event('input')); })(document.getElementById('answer'))")
    browser.wait("document.getElementById('told').innerText.includes('It differs in symbol 1: 1 → 2')")
    assert browser.see("document.querySelectorAll('.slot.differs').length") == 1
    browser.see("(e => { e.value = ''; e.dispatchEvent(new Event('input')); })(document.getElementById('answer'))")
    browser.wait("!document.getElementById('told').innerText.includes('differs')")


def test_dropped_files_are_read(opened: tuple[Browser, Path]) -> None:
    browser, _ = opened
    click(browser, "anew")
    files = []
    for digit in (1, 2):
        file = io.BytesIO()
        picture(digit, 64).point(lambda v: 255 - v).save(file, "PNG")  # dark ink on white paper
        files.append(base64.b64encode(file.getvalue()).decode())
    browser.see(f"""(() => {{
      const data = new DataTransfer();
      for (const text of {json.dumps(files)}) {{
        data.items.add(new File([Uint8Array.from(atob(text), c => c.charCodeAt(0))], 'a.png', {{type: 'image/png'}}));
      }}
      document.getElementById('canvas').dispatchEvent(new DragEvent('drop', {{dataTransfer: data, cancelable: true}}));
    }})()""")
    told = browser.wait("document.querySelector('#told .sum')?.innerText")
    assert " ".join(told.split()) == "1 2 gives 4"


def test_the_page_changes_when_the_run_does(opened: tuple[Browser, Path]) -> None:
    browser, folder = opened
    before = (folder / METRICS).read_bytes()
    count = before.count(b"\n")
    browser.wait(f"document.getElementById('live').innerText.includes('{count} epochs')")
    (folder / METRICS).write_bytes(before + before.splitlines(keepends=True)[-1])
    browser.wait(f"document.getElementById('live').innerText.includes('{count + 1} epochs')")
    (folder / METRICS).write_bytes(before)


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_the_screen_in_light_and_in_dark(opened: tuple[Browser, Path], width: int, scheme: str) -> None:
    browser, _ = opened
    browser.tell("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 500)
    browser.tell("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    draw(browser, 2, 1)
    assert browser.see("innerWidth") == width
    assert browser.see("document.documentElement.scrollWidth") <= width
    assert browser.see(WIDE) == ""
    shot = base64.b64decode(browser.tell("Page.captureScreenshot", captureBeyondViewport=True)["data"])
    mean = Image.open(io.BytesIO(shot)).convert("L").resize((1, 1)).getpixel((0, 0))
    assert isinstance(mean, int)
    assert (mean < 128) == (scheme == "dark")
    if keep := os.environ.get("SOFTGROUND_SCREENSHOTS"):
        (Path(keep) / f"window-{width}-{scheme}.png").write_bytes(shot)
