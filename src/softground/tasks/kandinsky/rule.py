"""The rule of Kand-Logic: three figures of three objects, each with a shape and a colour.

Three values have the pattern *same*, *two* (exactly two are equal) or *different*: how many different ones there are.
The answer is true if the three figures have equal patterns of shapes **or** equal patterns of colours (``or``: true of
202,242,825 of the 3¹⁸ scenes), or of both (``and``).

It is read object by object. Of shapes, and likewise of colours, the state remembers the pattern of the figures before,
or that they differ, and the values of this figure so far: at most 19 of either, 361 together.

Reference: S. Bortolotti et al., rsbench, NeurIPS 2024 (``mini_patterns`` has the form ``or``, the 64×64 models have
``and``).
"""

from typing import Any, Literal

from ...constraints import Scan
from ...spaces.categorical import Categorical

SHAPES, COLOURS = ("square", "circle", "triangle"), ("red", "yellow", "blue")
TYPES = [f"{colour}-{shape}" for shape in SHAPES for colour in COLOURS]  # a type's code is 3 · shape + colour
FIGURES, OBJECTS = 3, 3
SITES = FIGURES * OBJECTS
Form = Literal["or", "and"]
DIFFER: tuple[int, tuple[int, ...]] = (-1, ())  # the patterns of two figures are not equal
AttributeState = tuple[int, tuple[int, ...]]  # the figures' pattern, 0 before the first ends; this figure's values


def kand_scan(form: Form = "or") -> Scan:
    """The rule as a scan over objects.

    >>> rule = kand_scan()
    >>> rule.compute(rule.space.encode([["red-square", "red-circle", "blue-triangle"] * 3]))
    [True]
    """
    space = Categorical([TYPES] * SITES)
    codes = {name: divmod(code, len(COLOURS)) for code, name in enumerate(TYPES)}
    holds = any if form == "or" else all

    def step(state: Any, name: str, site: int) -> Any:
        after = tuple(follow(own, value) for own, value in zip(state, codes[name], strict=True))
        return holds(own != DIFFER for own in after) if site == SITES - 1 else after

    return Scan(step, space, start=((0, ()), (0, ())))


def follow(state: AttributeState, value: int) -> AttributeState:
    """The state of an attribute after one more object.

    >>> follow((2, (0, 1)), 1), follow((2, (0, 1)), 2)
    ((2, ()), (-1, ()))
    """
    pattern, values = state
    values = tuple(sorted((*values, value)))
    if state == DIFFER:
        return DIFFER
    if len(values) < OBJECTS:
        return pattern, values
    own = len(set(values))
    return (own, ()) if pattern in (0, own) else DIFFER
