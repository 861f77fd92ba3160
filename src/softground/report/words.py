"""Numbers, names of metrics and settings as a reader wants them, the same on the terminal and on a page."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..files import harmless

LARGEST = 1e300  # beyond it nothing can be drawn; NaN is not below it either
# Shares that are not called accuracies.
SHARES = frozenset(
    {"accuracy", "feasible", "grounded_symbols", "acceptance", "moved", "unknown", "used", "noise", "meant"}
    | {"corrected", "given_up"}
)
SHARE_ENDINGS = ("_accuracy", "_accuracy_all", "_f1", "_f1_all", "_ece", "_feasible")
WORDS = {"f1": "F1", "ece": "ECE", "ood": "OOD"}
IN_FULL = ("_f1_all", "_collapse", "_collapse_all")  # figures that a short table leaves out
OF_SYMBOLS = ("_f1", "_ece", *IN_FULL)
LONGEST = 24  # characters of a symbol
SIGNS = {"*": "×", "/": "÷", "-": "−"}
Path = tuple[str, ...]
DEEPEST = 12  # nesting that is shown; a forged file may hold much more


def is_number(value: Any) -> bool:
    """Whether a value of a record is a finite number; files may hold anything."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < LARGEST


def is_share(name: str) -> bool:
    """Whether a metric is a share of something, shown in percent: an accuracy, or one of the library's own shares.

    >>> [is_share(name) for name in ("test_symbol_accuracy", "moved", "test_feasible", "test_spearman", "inaccuracy")]
    [True, True, True, False, False]
    """
    return name.endswith(SHARE_ENDINGS) or name.removeprefix("test_").removeprefix("validation_") in SHARES


def is_brief(name: str) -> bool:
    """Whether a figure belongs on a final screen: of single shapes and the validation part no more than accuracies.

    >>> [is_brief(n) for n in ("symbol_accuracy", "symbol_ece", "symbol_collapse", "shape_3_symbol_ece", "spearman")]
    [True, True, False, False, True]
    """
    apart = of_one_shape(name) or name.startswith("validation_")
    return not name.endswith(OF_SYMBOLS if apart else IN_FULL)


def figure(name: str, value: Any, decimals: int = 2) -> str:
    """A metric's value; ``decimals`` are those of a percentage. JSON has no infinity, so γ = ∞ is kept as None.

    >>> figure("symbol_accuracy", 0.99814), figure("spearman", 0.98765), figure("loss", None), figure("gamma", None)
    ('99.81%', '0.988', '–', '∞')
    >>> figure("wall_seconds", 200)
    '3 min 20 s'
    """
    if not is_number(value):
        return value if isinstance(value, str) else "∞" if name == "gamma" and value is None else "–"
    if is_share(name):
        return f"{value:.{decimals}%}"
    if name == "wall_seconds":
        return seconds(value)
    return f"{value:,}" if isinstance(value, int) else number(value)


def number(value: float) -> str:
    """Three decimals, or a power of ten where those would say nothing.

    >>> number(0.5), number(0.02), number(123456.0), number(0.0), number(1e-4)
    ('0.5', '0.02', '123,456', '0', '0.0001')
    """
    if value == 0:
        return "0"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3f}".rstrip("0").rstrip(".") if abs(value) >= 0.01 else f"{value:.2g}"


def percent(value: float) -> str:
    """A share at an axis.

    >>> percent(0.2), percent(0.998), percent(1.0)
    ('20%', '99.8%', '100%')
    """
    return f"{value:.1%}".replace(".0%", "%")


def seconds(value: float) -> str:
    """A duration.

    >>> seconds(0.24), seconds(27.9), seconds(200), seconds(3 * 3600 + 300)
    ('0.24 s', '27.9 s', '3 min 20 s', '3 h 05 min')
    """
    if value < 60:
        return f"{value:.2f} s" if value < 1 else f"{value:.1f} s"
    minutes, rest = divmod(round(value), 60)
    return f"{minutes} min {rest:02d} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"


def spoken(name: str) -> str:
    """A metric's name in words, and in few.

    >>> spoken("test_relabelled_symbol_accuracy"), spoken("grounded_symbols")
    ('relabelled symbol', 'grounded symbols')
    """
    return worded(name.removeprefix("test_").removesuffix("_accuracy"))


def worded(name: str) -> str:
    """A metric's name in words.

    >>> worded("symbol_accuracy"), worded("ood_symbol_ece"), worded("symbol_f1_all")
    ('symbol accuracy', 'OOD symbol ECE', 'symbol F1 all')
    """
    return " ".join(WORDS.get(word, word) for word in name.split("_"))


def symbol(text: str) -> str:
    """A symbol as it is written by hand; a long one, which would stretch a page, is cut."""
    text = harmless(text)
    return SIGNS.get(text, text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…")


def of_one_shape(name: str) -> bool:
    """Whether a figure is that of one shape among several, on whatever test set.

    >>> [of_one_shape(name) for name in ("test_shape_3_error", "ood_shape_3_error", "error", "shape_accuracy")]
    [True, True, False, False]
    """
    return re.match(r"([a-zA-Z0-9]+_)?shape_[^_]+_", name) is not None


def apart(figures: Mapping[str, Any], sets: Iterable[str]) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Figures of the test data, and those of further test sets by set, without its name.

    >>> apart({"symbol_f1": 0.5, "ood_symbol_f1": 0.25}, ["ood"])
    ({'symbol_f1': 0.5}, {'ood': {'symbol_f1': 0.25}})
    """
    own, each = dict(figures), {name: dict[str, Any]() for name in sets}
    for name in sorted(each, key=len, reverse=True):  # a name may begin with another
        each[name] = {k.removeprefix(f"{name}_"): own.pop(k) for k in figures if k in own and k.startswith(f"{name}_")}
    return own, each


def listed(value: Any, path: Path = ()) -> Iterator[tuple[Path, str | None]]:
    """Every setting as (its path, its value); a group of settings comes before its members and has no value.

    >>> list(listed({"lr": 0.1, "stages": [{"keep": None}]}))
    [(('lr',), '0.1'), (('stages',), None), (('stages', '1'), None), (('stages', '1', 'keep'), '–')]
    """
    groups = isinstance(value, list) and any(isinstance(item, Mapping | list) for item in value)
    members = {str(i): item for i, item in enumerate(value, start=1)} if groups else value
    if isinstance(members, Mapping) and members and len(path) < DEEPEST:
        if path:
            yield path, None
        for name, member in members.items():
            yield from listed(member, (*path, name))
    elif path:
        yield path, "…" if groups else ", ".join(map(_word, value)) if isinstance(value, list) else _word(value)


def flat(settings: Any) -> dict[str, str]:
    """Every setting by its path, without the groups.

    >>> flat({"lr": 0.1, "stages": [{"epochs": 3}]})
    {'lr': '0.1', 'stages › 1 › epochs': '3'}
    """
    return {" › ".join(path): words for path, words in listed(settings) if words is not None}


def _word(value: Any) -> str:
    """One value.

    >>> [_word(v) for v in (None, True, 0.5, "exp", {}, {"a": 1})]
    ['–', 'yes', '0.5', 'exp', '–', '…']
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "–" if value in (None, "", {}) else "…" if isinstance(value, Mapping) else str(value)
