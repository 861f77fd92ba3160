"""Proposition 1's inequality and its remark, as tables and in words that the records decide."""

from __future__ import annotations

import statistics
from collections import defaultdict
from typing import Any

from .descent import FEW, SILENT, holds
from .summary import Record, Results
from .tables import markdown

CONCEDED = (
    "The paper concedes the bias: it 'is introduced due to: 1) the approximate sampling of Metropolis algorithm; 2) "
    "the inverse projection implemented by the SMT solver', and of the remedies that it names ('increase the number of "
    "inner iterations', 'alter the projection operator during the training process, or increase the dimension of "
    "projection space') it says that 'none of these methods can fully avoid the bias of gradient estimate' (Section 4)."
)
SHOWN = 1.5  # α of which every case is shown
WIPED = 0.05  # a mean distance, or length of the bias, below this is called wiped out
LESS = 0.8  # of what it was: below this, it is said to have fallen


def inequality(results: Results) -> list[str]:
    """Left and right sides, over γ, law, K and α; then how often which right side holds."""
    rows = _rows(results, "descent")
    if not rows:
        return ["Not measured yet."]
    groups: dict[tuple[float, str, int, float], list[Record]] = defaultdict(list)
    for row in rows:
        groups[row["gamma"], row["law"], row["steps"], row["alpha"]].append(row)
    limit = results.families["descent"][0]["result"]["limit"]
    body = []
    for (gamma, law, steps, alpha), found in groups.items():
        if alpha != SHOWN and (gamma < 1 or steps == FEW):
            continue
        mean = {key: statistics.fmean(row[key] for row in found) for key in ("left", "descent", "bias", "bound")}
        body.append(
            [f"{gamma:g}", law, f"{steps:,}", f"{alpha:g}", f"{max(row['epsilon'] for row in found):.3f}"]
            + [f"{mean['left']:.4f}", f"{mean['descent']:.4f}"]
            + [f"{mean['descent'] + mean[key]:.4f}" for key in ("bias", "bound")]
            + [_yes(found, last) for last in (None, "bias", "bound")]
        )
    header = ["γ", "z drawn from", "K", "α", "ε", "left", "right, no last term", "right, ‖m‖²", "right, (nεL)²"]
    header += ["holds without", "with ‖m‖²", "with (nεL)²"]
    lines = [
        "(1/K) Σ E‖∇ℓ(θ_k)‖² ≤ 2Δ₀/(ηK) + ηλσ² + (nεL)², with η = α/√K ≤ 1/λ: the inequality with the constants of the "
        "lemma that its proof applies (Ajalloeian and Stich, 2020, Lemma 3), where ‖m‖², the mean squared length of "
        "the bias, stands in the last place. (The paper prints √(T + 1) for the lemma's √K, no expectation and no "
        "bound on η, and takes L to bound ∇ log P(z) for every z.) On a problem so small that every constant and every "
        "law is known (two symbols, ab = 0; `papers/li2023/descent.py`); mean of "
        f"{len(results.families['descent'])} seed(s), "
        f"{rows[0]['runs']} runs a seed. The left side never exceeds L² = {limit:g}. Some of the cases; the counts "
        "below are of all of them.",
        "",
        *markdown(header, body),
        "",
    ]
    vacuous = sum(row["descent"] + row["bound"] >= limit for row in rows)
    for text, last in (("the paper's last term (nεL)²", "bound"), ("the lemma's, ‖m‖²", "bias")):
        kept = sum(holds(row, last) for row in rows)
        lines.append(f"- With {text}: it holds in {kept} of {len(rows)} cases.")
    failed = [row for row in rows if not holds(row, None)]
    lines += [
        f"- Without a last term it fails in {len(failed)} cases"
        + (f" ({_where(failed)})." if failed else ": this table could not have failed."),
        f"- In {vacuous} of the {len(rows)} cases the paper's right side is above L² and says nothing: that is so "
        "wherever ε ≥ 1/n, n the size of S_y. The triangle inequality gives ‖m‖ ≤ 2εL whatever n is. ",
    ]
    silent = [row for row in rows if row["law"] == SILENT and row["steps"] > FEW and row["gamma"] > 1]
    if silent:
        share = max(row["left"] / (row["descent"] + row["bias"]) for row in silent)
        lines[-1] += f"At most {100 * share:.0f} % of the lemma's right side is used ({SILENT}): it is no idle bound."
    return lines


def remark(results: Results) -> list[str]:
    """Distance to Q* in training, and whether it is 'gradually wiped out'."""
    records = results.families.get("sharpening", [])
    if not records:
        return ["Not measured yet."]
    looks = list(zip(*(record["result"]["rows"] for record in records), strict=False))
    body = []
    for found in looks:
        gamma = found[0]["gamma"]
        cells = [f"{_mean(found, at, key):.3f}" for at in ("now", "one") for key in ("after", "settled")]
        extra = [f"{_mean(found, 'now', key):.3f}" for key in ("unreached", "bias", "entropy")]
        sharp = statistics.fmean(row["sharpness"] for row in found)
        body.append([str(found[0]["epoch"]), "∞" if gamma is None else f"{gamma:.2f}", f"{sharp:.3f}", *cells, *extra])
    steps = records[0]["result"]["steps"]
    header = ["epoch", "γ", "network's confidence", f"T = {steps} steps on", "for ever", f"T = {steps}, γ = 1"]
    header += ["for ever, γ = 1", "of Q\\*, unreached", "gradient's bias", "entropy of Q\\*"]
    size = statistics.fmean(record["result"]["states"] for record in records)
    cooled = [found for found in looks if found[0]["gamma"] is not None]
    right = statistics.fmean(100 * record["result"]["test"]["symbol_accuracy"] for record in records)
    lines = [
        "'The bias term is gradually wiped out in the training process, since the decreasing of γ shrinks the support "
        "of Q\\*, making the gradient estimate finally align with the true one' (the paper's remark). Total variation "
        "between Q\\* and the law of the paper's walk from where a training chain stands, T steps on and however long, "
        "at the epoch's γ and at γ = 1; by the walk's matrices, mean over training formulas (five symbols, built-in "
        f"digits, |S_y| = {size:.0f} on average) and {len(records)} seed(s), in a training run of Stage I that ends "
        f"with {right:.1f} % of the symbols right (`papers/li2023/sharpening.py`).",
        "",
        *markdown(header, body),
    ]
    return lines + (["", _judged(cooled[0], cooled[-1])] if len(cooled) > 1 else [])


def _judged(first: tuple[Record, ...], last: tuple[Record, ...]) -> str:
    """The verdict."""

    def change(at: str, key: str) -> str:
        return f"from {_mean(first, at, key):.2f} to {_mean(last, at, key):.2f}"

    def course(key: str) -> str:
        kept, left = _mean(last, "now", key) / _mean(first, "now", key), _mean(last, "now", key)
        return "is wiped out" if left < WIPED else "falls but is not wiped out" if kept < LESS else "does not fall"

    sharp = _mean(last, "one", "settled") / _mean(first, "one", "settled") < LESS
    why = "with γ held at 1 it falls as well, as P sharpens" if sharp else "with γ held at 1 it does not"
    text = (
        f"**Verdict: here the distance {course('after')} and the gradient's bias {course('bias')}.** Over training the "
        f"distance goes {change('now', 'after')} after T steps and {change('now', 'settled')} however long one walks; "
        f"{why} ({change('one', 'settled')}). The gradient's bias after T steps, in the network's outputs, goes "
        f"{change('now', 'bias')}."
    )
    caught = _mean(last, "now", "unreached")
    if course("after") != "is wiped out" and caught > _mean(last, "now", "settled") / 2:
        text += (
            f" Most of what no walking mends at the end, {caught:.2f}, is what Q\\* gives to parts of S_y that the "
            "walk cannot reach from its chain: as Q\\*'s support shrinks, it shrinks away from chains in other parts."
        )
    return text


def _rows(results: Results, family: str) -> list[Record]:
    return [row for record in results.families.get(family, []) for row in record["result"]["rows"]]


def _mean(found: tuple[Record, ...], at: str, key: str) -> float:
    return statistics.fmean(row[at][key] for row in found)


def _yes(found: list[Record], last: str | None) -> str:
    count = sum(holds(row, last) for row in found)
    return "yes" if count == len(found) else "**no**" if not count else f"{count} of {len(found)}"


def _where(failed: list[Record]) -> str:
    places: dict[str, Any] = {}
    for row in failed:
        places.setdefault(f"γ = {row['gamma']:g}, {row['law']}, K = {row['steps']:,}", None)
    return "; ".join(places)


__all__ = ["CONCEDED", "inequality", "remark"]
