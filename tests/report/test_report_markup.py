"""Whatever a run folder holds, a page is markup of ours and text of theirs."""

from __future__ import annotations

import base64
import hashlib
import re
from typing import Any

import pytest
from jinja2 import UndefinedError

from report_cases import Page, facts, findings, history, loads, picture
from softground.report.facts import Facts
from softground.report.findings import Input, Matrix, Shown
from softground.report.html import compare_page, run_page
from softground.report.html.page import POLICY, environment
from softground.report.words import symbol

EVIL = "\"><script>alert(1)</script><img src=x onerror=alert(2)>' onload='x</title></style>&amp;"


def evil(value: Any) -> Any:
    """A document whose every string, key or value, tries to break out."""
    match value:
        case str():
            return EVIL + value
        case dict():
            return {
                k
                if k in ("task", "recipe", "settings", "before", "after_stage_I", "versions", "note")
                else EVIL + k: evil(v)
                for k, v in value.items()
            }
        case list():
            return [evil(v) for v in value]
    return value


def hostile() -> Facts:
    shown = Shown(0, Input(text=EVIL, images=[], ink=True), EVIL, [EVIL], [EVIL * 2], [EVIL * 3], False, EVIL)
    pictured = Shown(1, Input(images=[EVIL]), EVIL, [EVIL], ["1"], None, True)
    found = findings(
        sites=1,
        symbols=[EVIL, "b"],
        renamed={EVIL: EVIL},
        watched=[shown, pictured],
        looked_at=[shown, pictured],
        matrices=[Matrix(EVIL, EVIL, EVIL, [[1, 2], [3, 4]])],
    )
    records = [r | {"stage": EVIL + str(r["stage"]), f"test_{EVIL}_accuracy": 0.5, EVIL: 2.0} for r in history()]
    gallery = [{"epochs": 1, "stage": EVIL, "examples": [0, 1], "grounded": [[EVIL], [EVIL]], "predicted": [[EVIL]]}]
    plain = facts()
    return Facts(EVIL, evil(dict(plain.config)), records, evil(dict(plain.summary)), gallery, found)


def test_nothing_a_run_folder_holds_reverses_or_stretches_the_page() -> None:
    long = "\u202e" + "x" * 120
    shown = Shown(0, Input(text=long, images=[], ink=True), long, [long], [long], [long], False, long)
    found = findings(sites=1, symbols=[long, "b"], watched=[shown], looked_at=[shown], matrices=[matrix()])
    plain = facts()
    run = Facts(long, dict(plain.config) | {"task": "\x1b[2J\u2066task"}, history(), dict(plain.summary), [], found)
    html = run_page(run)
    assert not re.search("[\x1b\u202a-\u202e\u2066-\u2069]", html)
    assert r"\x1b[2J\u2066task" in html
    assert all("x" * 24 not in part for part in re.findall("<svg.*?</svg>", html, re.S))
    assert "unicode-bidi: isolate" in html
    assert symbol(long) == r"\u202e" + "x" * 17 + "…"  # as a window writes it


def matrix() -> Matrix:
    return Matrix("true", "predicted", "test", [[1, 2], [3, 4]])


@pytest.mark.parametrize(
    ("make", "scripts"), [(run_page, 1), (lambda run: compare_page([run, facts()]), 0)], ids=["run", "compare"]
)
def test_nothing_a_run_folder_holds_becomes_markup(make: Any, scripts: int) -> None:
    html = make(hostile())
    Page(html)  # refuses scripts but ours, onerror= and elements that close others
    assert html.lower().count("<script") == scripts
    assert "alert(1)" in html  # it is there, as text
    assert loads(html) == []


def test_text_is_escaped_and_what_a_template_forgets_is_an_error() -> None:
    template = environment().from_string('<a href="{{ x }}">{{ y }}</a>')
    assert template.render(x="\"'<>&", y=1.239) == '<a href="&#34;&#39;&lt;&gt;&amp;">1.24</a>'
    with pytest.raises(UndefinedError, match="'y' is undefined"):
        template.render(x="")


def policies(html: str) -> list[str | None]:
    return [a["content"] for a in Page(html).all("meta") if a.get("http-equiv") == "Content-Security-Policy"]


def test_a_page_forbids_itself_the_network_and_scripts_but_the_one_that_filters() -> None:
    assert policies(compare_page([facts(), facts()])) == [POLICY]
    html = run_page(facts())
    script = re.findall("<script>(.*?)</script>", html, re.S)
    digests = [base64.b64encode(hashlib.sha256(code.encode()).digest()).decode() for code in script]
    assert policies(html) == [f"{POLICY}; script-src 'sha256-{digests[0]}'"]
    assert len(digests) == 1
    assert POLICY.startswith("default-src 'none'")
    assert "script" not in POLICY
    assert "http" not in POLICY


def test_images_are_inside_the_file() -> None:
    page = Page(run_page(facts()))
    sources = [a["src"] or "" for a in page.all("img")]
    assert sources
    assert all(source.startswith("data:image/png;base64,iVBOR") for source in sources)
    assert f"data:image/png;base64,{picture(0)}" in sources
