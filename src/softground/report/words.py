"""Numbers, names of metrics and settings as a reader wants them, the same on the terminal and on a page."""

from collections.abc import Iterable, Iterator, Mapping
from string import ascii_uppercase
from typing import Any

from ..figures import Figure, figures
from ..files import harmless

LARGEST = 1e300  # beyond it nothing can be drawn; NaN is not below it either
WORDS = {"f1": "F1", "ece": "ECE", "ood": "OOD"}
LONGEST = 24  # characters of a symbol
SIGNS = {"*": "×", "/": "÷", "-": "−"}
Path = tuple[str, ...]
DEEPEST = 12  # nesting that is shown; a forged file may hold much more


def is_number(value: object) -> bool:
    """Whether a value of a record is a finite number; files may hold anything."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < LARGEST


def in_words(figure: Figure, decimals: int = 2) -> str:
    """A figure's value; ``decimals`` are those of a percentage. JSON has no infinity, so γ = ∞ is kept as None.

    >>> [in_words(Figure(*each)) for each in (("symbol_accuracy", 0.99814), ("spearman", 0.98765), ("loss", None))]
    ['99.81%', '0.988', '–']
    >>> in_words(Figure("gamma", None)), in_words(Figure("wall_seconds", 200))
    ('∞', '3 min 20 s')
    """
    name, value = figure.name, figure.value
    if not is_number(value):
        return value if isinstance(value, str) else "∞" if name == "gamma" and value is None else "–"
    if figure.share:
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


def short(figure: Figure) -> str:
    """A figure's name in few words.

    >>> short(Figure.parse("test_relabelled_symbol_accuracy")), short(Figure("grounded_symbols"))
    ('relabelled symbol', 'grounded symbols')
    """
    data = "" if figure.data == "test" else figure.data
    return worded(figure._replace(data=data, name=figure.name.removesuffix("_accuracy")).flat)


def worded(name: str) -> str:
    """A name in words.

    >>> worded("ood_symbol_ece"), worded("symbol_f1_all"), worded("validation_constrained_symbol_accuracy")
    ('OOD symbol ECE', 'symbol F1 all', 'validation symbol accuracy, answer known')
    """
    words = [WORDS.get(word, word) for word in name.split("_")]
    if "constrained" in words:
        words = [word for word in words if word != "constrained"]
        words[-1] += ", answer known"
    return " ".join(words)


def letter(place: int) -> str:
    """What a run is called on the page: A, B, …, Z, AA, AB, …

    >>> letter(0), letter(25), letter(26)
    ('A', 'Z', 'AA')
    """
    before = letter(place // 26 - 1) if place >= 26 else ""
    return before + ascii_uppercase[place % 26]


def symbol(text: str) -> str:
    """A symbol as it is written by hand; a long one, which would stretch a page, is cut."""
    text = harmless(text)
    return SIGNS.get(text, text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…")


def columns(moments: Mapping[str, Mapping[str, object]], sets: Iterable[str] = ()) -> dict[str, dict[str, Figure]]:
    """Figures by column and name: a column for each moment, then one for each further test set of the last moment."""
    known = {name: worded(name) for name in sets}
    found: dict[str, dict[str, Figure]] = {name: {} for name in (*moments, *known.values())}
    for moment, record in moments.items():
        for figure in figures(record, ("validation", *known)):
            if figure.data in known:
                found[known[figure.data]][figure._replace(data="").flat] = figure._replace(data="")
            else:
                found[moment][figure.flat] = figure
    return found


def rows(columns: Iterable[Mapping[str, Figure]], group: str = "brief") -> dict[str, list[str]]:
    """Table rows by a figure's name in words, with its value in each column.

    The groups are ``brief``, for a short table, ``answered``, read with the answer known, and ``more``, all others.
    """
    columns = list(columns)
    groups = {
        name: "answered" if figure.answered else "brief" if figure.brief else "more"
        for column in columns
        for name, figure in column.items()
    }
    return {
        worded(name): [in_words(column.get(name, Figure(name))) for column in columns]
        for name, own in groups.items()
        if own == group
    }


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


def flat(settings: object) -> dict[str, str]:
    """Every setting by its path, without the groups.

    >>> flat({"lr": 0.1, "stages": [{"epochs": 3}]})
    {'lr': '0.1', 'stages › 1 › epochs': '3'}
    """
    return {" › ".join(path): words for path, words in listed(settings) if words is not None}


def _word(value: object) -> str:
    """One value.

    >>> [_word(v) for v in (None, True, 0.5, "exp", {}, {"a": 1})]
    ['–', 'yes', '0.5', 'exp', '–', '…']
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "–" if value in (None, "", {}) else "…" if isinstance(value, Mapping) else str(value)
