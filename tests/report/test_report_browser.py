"""Pages in a real browser, where there is one: nothing is wider than the screen, and dark mode is dark."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from html import escape
from pathlib import Path

import pytest
from PIL import Image

from report_cases import facts, findings, watched
from softground.report.facts import Facts
from softground.report.findings import Input, Matrix, Shown
from softground.report.html import compare_page, run_page
from window_cases import Browser

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no chromium was found to render pages with")
PHONE, DESK = 390, 1280
# In each frame: its width, how wide its content is, how many figures it has, and what sticks out of the screen.
# A table that scrolls by itself may be wide inside.
MEASURE = """<script>
addEventListener('load', () => {
  const wide = [...document.querySelectorAll('body *')].filter(e => !e.closest('.scroll') || e.matches('.scroll'))
    .filter(e => { const r = e.getBoundingClientRect(); return r.right > innerWidth + 1 || r.left < -1; })
    .map(e => e.tagName + '.' + (e.getAttribute('class') || ''));
  const seen = [innerWidth, document.documentElement.scrollWidth, document.querySelectorAll('svg').length];
  frameElement.setAttribute('data-seen', [...seen, wide.slice(0, 5)].join(' '));
});
</script>"""
POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy"[^>]*>')


def long_names() -> Facts:
    """A run at its most unwieldy: long words, many symbols, a board of 81 sites."""
    word = "a_very_long_name_without_any_place_where_a_browser_could_break_it_" * 2
    symbols = [f"symbol {k}" for k in range(30)]
    counts = [[(k + j) % 7 for j in range(30)] for k in range(30)]
    board = findings(81, symbols=symbols, matrices=[Matrix("true", "predicted", "held-out", counts)])
    config = {"task": "hwf", "recipe": {word: word, "data_dir": "/" + word * 3}}
    records = [r | {f"test_{word}_accuracy": 0.5, word: 123456.789} for r in facts().history]
    return facts(word, config=config, findings=board, watched=watched(81), history=records)


PAGES = {
    "run": lambda: run_page(facts()),
    "long": lambda: run_page(long_names()),
    "compare": lambda: compare_page([facts(), long_names(), facts("c", findings=None)]),
}


def browse(page: Path, *options: str) -> str:
    assert BROWSER is not None
    sandbox = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    command = [
        BROWSER,
        "--headless",
        *sandbox,
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--hide-scrollbars",
        f"--user-data-dir={page.parent / 'profile'}",
        *options,
        page.as_uri(),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, int, int, str]]:
    """All pages at both widths, in frames: a window of the browser itself cannot be as narrow as a phone."""
    frames = []
    for name, make in PAGES.items():
        # The page allows itself one script, so the copy that is measured must be without that rule.
        measured = POLICY.sub("", make()).replace("</body>", MEASURE + "</body>")
        for width in (PHONE, DESK):
            style = f"border:0;width:{width}px;height:900px"
            frames.append(f'<iframe id="{name}-{width}" style="{style}" srcdoc="{escape(measured)}"></iframe>')
    page = tmp_path_factory.mktemp("browser") / "pages.html"
    page.write_text(f"<!DOCTYPE html><meta charset=utf-8><body>{''.join(frames)}</body>")
    dom = browse(page, "--window-size=1400,900", "--virtual-time-budget=20000", "--dump-dom")
    found = re.findall(r'<iframe id="([^"]*)"[^>]*data-seen="(\d+) (\d+) (\d+) ([^"]*)"', dom)
    return {name: (int(inner), int(content), int(figures), wide) for name, inner, content, figures, wide in found}


@pytest.mark.parametrize("width", [PHONE, DESK])
@pytest.mark.parametrize("name", PAGES)
def test_nothing_is_wider_than_the_screen(name: str, width: int, seen: dict[str, tuple[int, int, int, str]]) -> None:
    inner, content, figures, wide = seen[f"{name}-{width}"]
    assert inner == width
    assert wide == "", f"wider than the screen: {wide}"
    assert content <= width
    assert figures >= 5  # they were there to be measured


@pytest.mark.parametrize(("scheme", "dark"), [(1, False), (0, True)], ids=["light", "dark"])
def test_a_page_is_drawn_in_light_and_in_dark(scheme: int, dark: bool, tmp_path: Path) -> None:
    page, shot = tmp_path / "page.html", tmp_path / "shot.png"
    page.write_text(run_page(facts()))
    browse(
        page, f"--window-size={PHONE},1600", f"--blink-settings=preferredColorScheme={scheme}", f"--screenshot={shot}"
    )
    image = Image.open(shot).convert("L")
    assert image.width == PHONE
    mean = image.resize((1, 1)).getpixel((0, 0))
    assert isinstance(mean, int)
    assert (mean < 128) == dark
    low, high = image.getextrema()
    assert high - low > 150  # there is something to see


@pytest.mark.skipif(os.name != "posix", reason="the browser is told what to do through a pipe")
def test_examples_are_filtered_and_paged_and_no_other_script_runs(tmp_path: Path) -> None:
    shown = [
        Shown(k, Input(text=f"input {k}"), str(k), ["0"], ["1" if k < 15 else "0"], feasible=k >= 5) for k in range(30)
    ]
    page, evil = tmp_path / "page.html", "<script>document.title = 'caught'</script>"
    page.write_text(run_page(facts(findings=findings(looked_at=shown))).replace("</main>", f"{evil}</main>"))
    assert BROWSER is not None
    browser = Browser(BROWSER, tmp_path / "profile")
    browser.tell("Page.enable")
    browser.tell("Page.navigate", url=page.as_uri())

    def after(act: str) -> str:
        browser.see(act)
        seen = "[...document.querySelectorAll('.sifted > :not([hidden]) header b')].map(e => e.innerText)"
        return str(browser.see(f"{seen}.join() + ' ' + document.querySelector('.sift span').innerText"))

    def press(words: str) -> str:
        return f"[...document.querySelectorAll('.sift button')].find(e => e.innerText.startsWith('{words}')).click()"

    def numbers(first: int, last: int) -> str:
        return ",".join(map(str, range(first, last)))

    browser.wait("document.querySelector('.sift span') !== null")
    assert after("0") == f"{numbers(0, 12)} 1–12 of 30"
    assert after(press("›")) == f"{numbers(12, 24)} 13–24 of 30"
    assert after(press("not explained (5)")) == f"{numbers(0, 5)} 1–5 of 5"
    assert after(press("wrong symbols (15)")) == f"{numbers(0, 12)} 1–12 of 15"
    assert after(press("right (15)")) == f"{numbers(15, 27)} 1–12 of 15"
    typed = (
        "(e => { e.value = 'INPUT 17'; e.dispatchEvent(new Event('input')); })(document.querySelector('.sift input'))"
    )
    assert after(typed) == "17 1–1 of 1"
    assert browser.see("document.title") != "caught"
    browser.close()
