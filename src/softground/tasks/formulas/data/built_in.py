"""The built-in source: real handwritten digits of scikit-learn and operators drawn by strokes.

The operators are drawn in a random hand, the way scikit-learn's digits were digitised. Those digits are 32×32 bitmaps
whose ink was counted in blocks of 4×4 pixels: 8×8 cells with 17 grey levels. Here a pen draws strokes on the same
canvas and the same count follows, so the operators share the digits' resolution, softness and grey levels.
"""

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from ....data.digits import Digits, embedded_digits
from ....data.examples import Split
from ....data.images import Images, resize
from .alphabet import DIGITS, OPERATORS
from .source import Plan, Pool, check_formulas, random_splits

DEFAULT_IMAGE_SIZE = 16
OPERATOR_IMAGES = {"train": 360, "test": 120}  # of each operator
Points = npt.NDArray[np.float64]
CANVAS, CELLS = 32, 8  # pixels a side, and cells a side in which their ink is counted
LEVELS = 16
SLASH_SHARE = 0.25  # how often a division is a slash rather than a bar between two dots
POINTS_PER_LINE = 18
PEN_RADIUS = (2.0, 3.0)  # least and most
PIXEL_CENTRES = np.arange(CANVAS, dtype=np.float64) + 0.5


def load(plan: Plan, image_size: int | None, seed: int) -> list[Split]:
    """Formulas of uniform symbols; the images of training and test are disjoint.

    Which digits are held out depends on no seed; operators are drawn afresh.
    """
    side = image_size or DEFAULT_IMAGE_SIZE
    check_formulas(plan, side**2)
    rngs = [np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(4)[2:]]
    train_digits, test_digits = embedded_digits()
    train_operators, test_operators = _operators(seed, *OPERATOR_IMAGES.values())
    pools = _pool(train_digits, train_operators, side), _pool(test_digits, test_operators, side)
    shown = sum(int(pool.counts[: len(DIGITS)].sum()) for pool in pools)
    note = (
        f"Data: {shown:,} of scikit-learn's 8×8 digits and drawn operators, other images for testing than for training "
        "but of the same writers; the published images: --data hwf."
    )
    return random_splits(pools, plan, rngs, note)


@lru_cache(maxsize=4)  # drawing takes a second; a process may load the same data again
def _operators(seed: int, to_train: int, to_test: int) -> tuple[list[Images], list[Images]]:
    """For each operator its training and its test images; a test image seen in training is left out."""
    ink, trial = (np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(2))
    train, test = [], []
    for operator in OPERATORS:
        seen = draw(operator, to_train, ink)
        fresh = draw(operator, to_test, trial)
        known = {image.tobytes() for image in seen}
        train.append(seen)
        test.append(fresh[[image.tobytes() not in known for image in fresh]])
    return train, test


def _pool(digits: Digits, operators: list[Images], image_size: int) -> Pool:
    formula_digits = digits.labels > 0  # a formula has no 0
    labels = [digits.labels[formula_digits].astype(np.int64) - 1]
    labels += [np.full(len(images), len(DIGITS) + place) for place, images in enumerate(operators)]
    images = np.concatenate([digits.images[formula_digits], *operators])
    return Pool(resize(images, image_size), np.concatenate(labels))


def draw(operator: str, count: int, rng: np.random.Generator) -> Images:
    """``count`` images ``[count, 8, 8]`` of an operator, ink 255 on 0, all different."""
    drawn: dict[bytes, Images] = {}
    while len(drawn) < count:
        pen = rng.uniform(*PEN_RADIUS)
        image = _digitise(_strokes(operator, pen, rng), pen, rng)
        drawn.setdefault(image.tobytes(), image)
    return np.stack(list(drawn.values()))


def _line(start: tuple[float, float], end: tuple[float, float], rng: np.random.Generator) -> Points:
    """A stroke of the pen: jittered ends, a slight bow, a slow wobble."""
    first, last = np.array(start) + rng.normal(0, 0.9, 2), np.array(end) + rng.normal(0, 0.9, 2)
    along = np.linspace(0, 1, POINTS_PER_LINE)[:, None]
    direction = last - first
    normal = np.array([-direction[1], direction[0]])
    bow = rng.normal(0, 0.05) * 4 * along * (1 - along)
    wobble = rng.normal(0, 0.012) * np.sin(2 * np.pi * (rng.uniform(0.8, 1.8) * along + rng.random()))
    return np.asarray(first + along * direction + (bow + wobble) * normal)


def _strokes(operator: str, pen: float, rng: np.random.Generator) -> list[Points]:
    """The strokes of an operator around the origin, in pixels, y downwards; ``pen`` is its radius."""
    half, lean = rng.uniform(9.0, 13.0), rng.uniform(0.8, 1.15)
    match operator:
        case "-":
            return [_line((-half, 0), (half, 0), rng)]
        case "+":
            shift = rng.normal(0, 0.8, 2)
            across = _line((-half, shift[0]), (half, shift[0]), rng)
            return [across, _line((shift[1], -half * lean), (shift[1], half * lean), rng)]
        case "*":
            half *= 0.85
            falling = _line((-half, -half * lean), (half, half * lean), rng)
            return [falling, _line((half, -half * lean), (-half, half * lean), rng)]
        case "/" if rng.random() < SLASH_SHARE:
            return [_line((half * 0.6, -half * 1.05), (-half * 0.6, half * 1.05), rng)]
        case _:
            gap = 2 * pen + rng.uniform(4.0, 6.0)
            dots = [_dot((rng.normal(0, 1.0), side * gap), rng) for side in (-1, 1)]
            return [_line((-half, 0), (half, 0), rng), *dots]


def _dot(centre: tuple[float, float], rng: np.random.Generator) -> Points:
    """A touch of the pen, slightly off its mark, with a little drag."""
    offset = np.array(centre) + rng.normal(0, 0.4, 2)
    return offset + np.linspace(-0.5, 0.5, 5)[:, None] * rng.normal(0, 0.8, 2)


def _digitise(strokes: list[Points], pen: float, rng: np.random.Generator) -> Images:
    """Turn, slant and place the strokes on the canvas, then count the ink in blocks, in 17 levels from 0 to 255."""
    turn = np.clip(rng.normal(0, 0.08), -0.2, 0.2)
    slant = np.clip(rng.normal(0.06, 0.09), -0.15, 0.27)
    rotation = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    frame = rotation @ np.array([[1, -slant], [0, 1]])
    centre = CANVAS / 2 + np.clip(rng.normal(0, 1.2, 2), -2.5, 2.5)
    coverage = np.zeros((CANVAS, CANVAS))
    for stroke in strokes:
        points = stroke @ frame.T + centre
        pressure = np.linspace(rng.uniform(0.85, 1.15), rng.uniform(0.85, 1.15), len(points))
        across, down = PIXEL_CENTRES - points[:, :1], PIXEL_CENTRES - points[:, 1:]
        distance = np.sqrt(down[:, :, None] ** 2 + across[:, None, :] ** 2)
        reach = (pen * pressure)[:, None, None] - distance + 0.5
        coverage = np.maximum(coverage, reach.max(axis=0))
    blocks = coverage.clip(0, 1).reshape(CELLS, CANVAS // CELLS, CELLS, CANVAS // CELLS)
    levels = np.round(blocks.mean(axis=(1, 3)) * LEVELS)
    return np.asarray(np.round(levels * (255 / LEVELS)), dtype=np.uint8)
