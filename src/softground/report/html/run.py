"""The report of one run."""

from __future__ import annotations

from dataclasses import dataclass

from ..facts import Facts
from .config import records, settings
from .confusion import confusions
from .curves import curves
from .gallery import followed, looked_at
from .markup import Child, Html, tag
from .numbers import figure, is_number, seconds, spoken
from .page import contents, page
from .parts import cards, section, table
from .timing import timing


@dataclass(frozen=True)
class Part:
    """A section, and how the contents list it."""

    anchor: str
    name: str
    body: Html


def run_page(facts: Facts) -> str:
    """Facts in, one HTML document out."""
    builders = (_curves, _symbols, _mistakes, _watched, _time, _config)
    sections = [part for build in builders if (part := build(facts)) is not None]
    entries = [(part.anchor, part.name) for part in sections]
    return page(
        f"{facts.task} · {facts.name}",
        tag("header", _heading(facts), contents(*entries), class_="top"),
        tag("main", _figures(facts), [part.body for part in sections]),
        tag("footer", "Written by softground. This file is complete: it loads nothing and runs nothing.", class_="end"),
    )


def _heading(facts: Facts) -> list[Child]:
    note = facts.summary.get("note")
    unfinished = "This run has no summary: it goes on, was interrupted, or was not started from the command line."
    return [
        tag("p", "softground report", class_="kicker"),
        tag("h1", facts.task, " ", tag("span", facts.name)),
        tag("p", note) if isinstance(note, str) else None,
        None if facts.summary else tag("p", unfinished, class_="warn"),
    ]


def _figures(facts: Facts) -> list[Child]:
    """The final figures in large type, then all of them as a table."""
    moments = facts.moments
    last = list(moments.values())[-1] if moments else {}
    before = moments.get("before", {})
    tiles = [
        tile(
            spoken(k) + (" accuracy" if k.endswith("accuracy") else ""),
            figure(k, v),
            f"before training {figure(k, before[k])}" if k in before and before is not last else None,
        )
        for k, v in last.items()
        if is_number(v)
    ]
    summary = facts.summary
    if is_number(summary.get("grounded")):
        tiles.append(tile("training examples explained", f"{summary['grounded']:,}", "by the network's own prediction"))
    if is_number(summary.get("wall_seconds")):
        epochs = len(facts.history)
        tiles.append(tile("time", seconds(summary["wall_seconds"]), f"{epochs:,} epoch{'s' if epochs != 1 else ''}"))
    if is_number(summary.get("parameters")):
        tiles.append(tile("network", f"{summary['parameters']:,}", "parameters"))
    if not tiles:
        return []
    train = summary.get("train")
    columns = {f"held-out, {name}": figures for name, figures in moments.items()}
    if isinstance(train, dict):
        columns["training"] = train
    names = list(dict.fromkeys(k for figures in columns.values() for k in figures))
    rows = [[k.replace("_", " "), *[figure(k, f.get(k)) for f in columns.values()]] for k in names]
    return [tag("div", tiles, class_="tiles"), table(["figure", *columns], rows, class_="figures")]


def tile(name: str, value: str, below: str | None) -> Html:
    """One figure in large type."""
    under = tag("span", below) if below else None
    return tag("div", tag("span", name, class_="name"), tag("b", value), under, class_="tile")


def _curves(facts: Facts) -> Part | None:
    found = curves(facts.history)
    if not found:
        return None
    lede = "How the run went. Values at the last epoch are written beside the lines; point at an epoch for its own."
    rows = cards(*found[:2], class_="cards two"), cards(*found[2:], class_="cards three")
    return Part("curves", "Curves", section("curves", "Curves", lede, *rows, records(facts.history)))


def _symbols(facts: Facts) -> Part | None:
    findings = facts.findings
    if findings is None or not findings.matrices:
        return None
    lede = "Each row is a symbol, shaded by where it went: a clean diagonal is agreement, a red square a confusion. "
    lede += "Numbers are percent of the row."
    renamed = None
    if findings.renamed:
        names = ", ".join(f"{a} is called {b}" for a, b in findings.renamed.items())
        words = f"The rule cannot tell these symbols apart, so the network's names for them are its own: {names}. "
        renamed = tag("p", words + "True symbols are given by the network's names throughout.", class_="warn")
    pictures = cards(*confusions(findings.matrices, findings.symbols), class_="cards three")
    return Part("symbols", "Symbols", section("symbols", "Symbols", lede, renamed, pictures))


def _mistakes(facts: Facts) -> Part | None:
    findings = facts.findings
    if findings is None or not findings.looked_at:
        return None
    lede = f"{findings.wrong:,} of {findings.held_out:,} predictions do not explain their answer"
    lede += f"; {findings.lucky:,} more do, with other symbols than the true ones." if findings.lucky else "."
    lede += " Some of each, mistakes first"
    if findings.symbols:
        lede += "; wrong symbols are marked." if findings.looked_at[0].truth else "."
    else:
        lede += ". The rule fixes the order of values rather than their size: look for a rising cloud, not for a line."
    examples = cards(*looked_at(findings.looked_at), class_="cards gallery" if findings.symbols else "cards tight")
    return Part("held-out", "Held-out examples", section("held-out", "Held-out examples", lede, examples))


def _watched(facts: Facts) -> Part | None:
    findings = facts.findings
    if findings is None or not findings.watched:
        return None
    chains = findings.watched[0].grounded is not None
    lede = "Training examples through the run"
    if not findings.symbols:
        lede += ": dots are the network's values" + (", rings the chain's." if chains else ".")
    elif chains:
        lede += ": each line or board is the chain's grounding after an epoch, with the network's own reading in small "
        lede += "type where it differs; in italics, the network alone."
    else:
        lede += ": each line or board is what the network reads after an epoch."
    if findings.symbols and findings.watched[0].truth:
        lede += " Symbols other than the true ones are marked" + ("; the chains never saw those." if chains else ".")
    examples = cards(*followed(findings, facts.watched), class_="cards gallery")
    return Part("watched", "Groundings", section("watched", "Groundings over time", lede, examples))


def _time(facts: Facts) -> Part | None:
    found = timing(facts.history)
    if not found:
        return None
    lede = "The network is the floor; what is above it is the price of not having labels."
    return Part("time", "Time", section("time", "Where the time went", lede, cards(*found, class_="cards two")))


def _config(facts: Facts) -> Part | None:
    versions = facts.summary.get("versions")
    lede = "What the run was asked to do. One seed decides every draw, so the same options give the same run."
    found = settings(facts.options, versions if isinstance(versions, dict) else {})
    return Part("config", "Config", section("config", "Config", lede, cards(*found)))


__all__ = ["run_page", "tile"]
