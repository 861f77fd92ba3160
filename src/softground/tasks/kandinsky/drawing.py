r"""Kandinsky figures: three coloured objects on white, of which each is cut out and rescaled.

A figure has 120×120 pixels. An object's centre is uniform over whole pixels 20 … 100, its size s over 20 … 40. A square
has side 0.7 s, a circle the diameter 0.7 s · 4/π, and a triangle, with u = 0.7 s · 3√3/4, its apex u/2 above the centre
and a base of u cos 30° a quarter of u below it. A figure is drawn anew while a pixel is covered twice. An object is cut
out by the whole pixels that it touches and rescaled to 28×28; where another one reaches into that box, it shows.

All shapes are given by half their width at a height, so that a whole batch is drawn at once: a pixel's colour is that
of 2×2 points in it. rssgen draws four times as large and shrinks instead.

Reference: rssgen's Kandinsky generator, in S. Bortolotti et al., rsbench, NeurIPS 2024.
"""

from itertools import combinations, product

import numpy as np
import numpy.typing as npt

FIGURE, CENTRES, SIZES = 120, (20, 100), (20, 40)
SIDE, POINTS = 28, 2  # pixels of a cut-out, and points that are looked at in a pixel, in each direction
TOGETHER = 1024
INK = np.array([[0, 1, 1], [0, 0, 1], [1, 1, 0]], dtype=np.uint8)  # what red, yellow and blue take from white

Floats = npt.NDArray[np.float32]
Whole = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


def half_width(shape: Whole, size: Floats, dy: Floats) -> Floats:
    """Half the width of each object at heights ``dy[objects, heights]`` below its centre; negative outside.

    >>> half_width(np.array([0, 1, 2]), np.full(3, 20.0), np.zeros((3, 1))).ravel().astype(int).tolist()
    [7, 8, 5]
    """
    a = 0.7 * size[:, None]
    radius, u = a * 2 / np.pi, a * 3 * np.sqrt(3) / 4
    square = np.where(np.abs(dy) <= a / 2, a / 2, -1)
    circle = np.where(np.abs(dy) <= radius, np.sqrt(np.maximum(radius**2 - dy**2, 0)), -1)
    triangle = np.where(dy <= u / 4, (dy + u / 2) / np.sqrt(3), -1)
    return np.choose(shape[:, None], [square, circle, triangle]).astype(np.float32)


def covered(shape: Whole, size: Floats, centre: Floats, x: Floats, y: Floats) -> Mask:
    """Which points each object covers, ``[objects, len(y), len(x)]``; coordinates are the object's own rows."""
    wide = half_width(shape, size, y - centre[:, 1:])
    found: Mask = np.abs(x - centre[:, :1])[:, None] <= wide[:, :, None]
    return found


def boxes(shape: Whole, size: Floats, centre: Floats) -> Whole:
    """The whole pixels that each object touches: left, top, right and bottom, ``[objects, 4]``."""
    a = 0.7 * size
    radius, u = a * 2 / np.pi, a * 3 * np.sqrt(3) / 4
    side = np.choose(shape, [a / 2, radius, u * np.sqrt(3) / 4])
    up, down = np.choose(shape, [a / 2, radius, u / 2]), np.choose(shape, [a / 2, radius, u / 4])
    low = np.floor(centre - np.stack([side, up], 1))
    return np.concatenate([low, np.ceil(centre + np.stack([side, down], 1))], 1).astype(np.int64)


def place(shapes: Whole, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Sizes ``[figures, objects]`` and centres ``[figures, objects, 2]`` of objects that do not cover one another."""
    size, centre = np.empty(shapes.shape, np.float32), np.empty((*shapes.shape, 2), np.float32)
    left = np.arange(len(shapes))
    while len(left):
        size[left] = rng.integers(SIZES[0], SIZES[1] + 1, (len(left), shapes.shape[1]))
        centre[left] = rng.integers(CENTRES[0], CENTRES[1] + 1, (len(left), shapes.shape[1], 2))
        left = left[_overlap(shapes[left], size[left], centre[left])]
    return size, centre


def _overlap(shapes: Whole, size: Floats, centre: Floats) -> Mask:
    """Whether some pixel of each figure is covered by two objects; looked at in the first one's box."""
    found = np.zeros(len(shapes), np.bool_)
    for one, other in combinations(range(shapes.shape[1]), 2):
        box = boxes(shapes[:, one], size[:, one], centre[:, one])
        near = np.flatnonzero(meet(box, boxes(shapes[:, other], size[:, other], centre[:, other])) & ~found)
        x, y = (box[near, i, None] + np.arange(2 * SIZES[1]) + np.float32(0.5) for i in (0, 1))
        both = [covered(shapes[near, k], size[near, k], centre[near, k], x, y) for k in (one, other)]
        found[near] |= (both[0] & both[1]).any((1, 2))
    return found


def meet(one: Whole, other: Whole) -> Mask:
    """Whether two boxes have a pixel in common."""
    return np.asarray(((one[:, :2] < other[:, 2:]) & (other[:, :2] < one[:, 2:])).all(1))


def cut_out(shapes: Whole, colours: Whole, rng: np.random.Generator) -> npt.NDArray[np.uint8]:
    """Every object of figures ``[figures, objects]`` as it is seen, ``[figures, objects, 3, 28, 28]``."""
    size, centre = place(shapes, rng)
    box = [boxes(shapes[:, k], size[:, k], centre[:, k]) for k in range(shapes.shape[1])]
    drawn = np.full((*shapes.shape, 3, SIDE, SIDE), 255, np.uint8)
    steps = (np.arange(SIDE * POINTS, dtype=np.float32) + np.float32(0.5)) / np.float32(SIDE * POINTS)
    for own, other in product(range(shapes.shape[1]), repeat=2):
        seen = np.flatnonzero(meet(box[own], box[other]))
        for part in np.array_split(seen, len(seen) // TOGETHER + 1):
            low, high = (box[own][part, i : i + 2].astype(np.float32) for i in (0, 2))
            x, y = (low[:, i, None] + (high - low)[:, i, None] * steps for i in (0, 1))
            mask = covered(shapes[part, other], size[part, other], centre[part, other], x, y)
            rows = mask[:, ::POINTS].astype(np.uint16) + mask[:, 1::POINTS]
            shade = ((rows[:, :, ::POINTS] + rows[:, :, 1::POINTS]) * 255 // POINTS**2).astype(np.uint8)
            ink, below = INK[colours[part, other]][:, :, None, None] * shade[:, None], drawn[part, own]
            drawn[part, own] = below - np.minimum(ink, below)
    return drawn
