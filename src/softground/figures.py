"""Figures: measured values with their data set, shape and reading.

Records and summaries hold flat names, such as ``validation_shape_3_constrained_symbol_accuracy``. Only this file
builds and parses them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

SETS = ("test", "validation")
PARTS = re.compile(r"(?:shape_([^_]+)_)?((?:constrained_|grammatical_|plain_)?(?:relabelled_)?)(.*)", re.DOTALL)
# Shares that are not called accuracies.
SHARES = frozenset(
    {"accuracy", "feasible", "grounded_symbols", "acceptance", "moved", "unknown", "used", "noise", "meant"}
    | {"corrected", "given_up"}
)
SHARE_ENDINGS = ("_accuracy", "_accuracy_all", "_f1", "_f1_all", "_ece", "_feasible")
IN_FULL = ("_f1_all", "_collapse", "_collapse_all")  # figures that a short table leaves out
OF_SYMBOLS = ("_f1", "_ece", *IN_FULL)


class Figure(NamedTuple):
    """One figure. ``reading`` says how the symbols were read, if not as the most probable ones: ``constrained`` to the
    answer, by the ``grammatical`` or ``plain`` reading, ``relabelled`` to the names that fit best, or two of these."""

    name: str
    value: Any = None
    data: str = ""  # the set of examples: test, validation, a further test set; "" if the context says which
    shape: str = ""
    reading: str = ""

    @classmethod
    def parse(cls, flat: str, value: object = None, sets: Iterable[str] = SETS) -> Figure:
        """The figure of a flat name, which may begin with the name of one of ``sets``.

        >>> Figure.parse("validation_shape_3_constrained_symbol_f1", 0.5)
        Figure(name='symbol_f1', value=0.5, data='validation', shape='3', reading='constrained')
        """
        begins = (data for data in sets if flat.startswith(f"{data}_"))
        data = max(begins, key=len, default="")  # one set's name may begin with another's
        shape, reading, name = PARTS.fullmatch(flat[len(data) + 1 :] if data else flat).groups()  # type: ignore[union-attr]
        return cls(name, value, data, shape or "", reading.removesuffix("_"))

    @property
    def flat(self) -> str:
        """The name in records and summaries.

        >>> Figure("symbol_f1", data="validation", shape="3").flat
        'validation_shape_3_symbol_f1'
        """
        shape = f"shape_{self.shape}" if self.shape else ""
        return "_".join(part for part in (self.data, shape, self.reading, self.name) if part)

    @property
    def share(self) -> bool:
        """Whether it is shown in percent: an accuracy, or one of the library's own shares.

        >>> names = ("test_symbol_accuracy", "moved", "test_feasible", "test_spearman", "inaccuracy")
        >>> [Figure.parse(name).share for name in names]
        [True, True, True, False, False]
        """
        return self.name.endswith(SHARE_ENDINGS) or self.name in SHARES

    @property
    def answered(self) -> bool:
        """Whether the symbols were read with the answer known."""
        return self.reading.startswith("constrained")

    @property
    def brief(self) -> bool:
        """Whether it belongs in a short table; for single shapes and the validation data, only accuracies do.

        >>> names = ("symbol_accuracy", "symbol_collapse", "shape_3_symbol_ece", "constrained_symbol_accuracy")
        >>> [Figure.parse(name).brief for name in names]
        [True, False, False, False]
        """
        return not self.answered and not self.name.endswith(
            OF_SYMBOLS if self.shape or self.data == "validation" else IN_FULL
        )


def figures(record: Mapping[str, object], sets: Iterable[str] = SETS) -> list[Figure]:
    """The figures of a record."""
    return [Figure.parse(name, value, tuple(sets)) for name, value in record.items()]


def flat_names(
    record: Mapping[str, object], *, data: str = "", shape: object = None, reading: str = ""
) -> dict[str, Any]:
    """Add data, shape and reading to the names of figures.

    >>> flat_names({"symbol_accuracy": 0.9}, data="test", shape=3)
    {'test_shape_3_symbol_accuracy': 0.9}
    """
    part = "" if shape is None else str(shape)
    return {Figure(name, data=data, shape=part, reading=reading).flat: value for name, value in record.items()}


def results(record: Mapping[str, object]) -> dict[str, Any]:
    """Figures with the names of results and summaries, which omit the name of the test data.

    >>> results({"test_symbol_accuracy": 0.9, "validation_symbol_accuracy": 0.8})
    {'symbol_accuracy': 0.9, 'validation_symbol_accuracy': 0.8}
    """
    return {(f._replace(data="") if f.data == "test" else f).flat: f.value for f in figures(record)}
