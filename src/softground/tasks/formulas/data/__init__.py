"""Where handwritten formulas come from: scikit-learn's digits, the HWF set, or a folder of your own images."""

from collections.abc import Sequence
from itertools import accumulate, pairwise
from os import PathLike
from typing import Any, Literal, get_args

from ....data.checks import existing_folder
from ....data.examples import Ragged, Split
from ....errors import DataError, Setting
from . import built_in, hwf, own_images
from .alphabet import DIGITS, LONGEST, OPERATORS, value
from .hwf import SIDES
from .source import DEFAULT_SIZES, Plan

__all__ = ["DIGITS", "OPERATORS", "Source", "Split", "SplitName", "load", "value"]

Source = Literal["digits", "hwf", "folder"]
SplitName = Literal["standard", "writer"]
PUBLISHED_SHARES = {1: 1, 3: 1, 5: 2, 7: 6}  # of 10,000 training and 2,000 test formulas
HOLDS = {"hwf": "hwf.npz or HWF's original layout", "folder": "one folder of images for each symbol"}


def load(
    source: Source,
    *,
    data_dir: str | PathLike[str] | None = None,
    length: int = 7,
    lengths: Sequence[int] = (),
    shares: Sequence[int] = (),
    train_size: int | None = None,
    test_size: int | None = None,
    split: SplitName = "standard",
    image_size: int | None = None,
    seed: int = 0,
) -> Split:
    """Handwritten formulas to train and test on.

    The sources are ``digits`` (scikit-learn's digits with drawn operators, built in), ``hwf`` (the HWF set in
    ``data_dir``, as ``hwf.npz`` or in its original layout) and ``folder`` (your own images in ``data_dir``, one folder
    for each symbol). By default there are 3,000 training and 1,000 test formulas, and for ``hwf`` all that are
    published; images are 16×16 for ``digits``, and as found for the others. ``split="writer"`` shows HWF's test
    formulas by writers that training never shows. Which images are held out does not depend on the seed.

    With several ``lengths`` the examples are :class:`~softground.data.Ragged`, in numbers proportional to ``shares``;
    HWF's lengths by default as in the published set, which has 10,000 and 2,000 formulas, others equally.
    """
    if source not in get_args(Source):
        raise DataError.of({"data": source}, "expected digits, hwf or folder.")
    for each in lengths or [length]:
        if not 1 <= each <= LONGEST or each % 2 == 0:
            raise DataError.of(
                {"lengths": lengths} if lengths else {"length": length},
                f"digits and operators alternate, so give an odd length, at least 1 and at most {LONGEST}.",
            )
    if len(set(lengths)) != len(lengths) or (shares and len(shares) != len(lengths)) or min(shares, default=1) < 1:
        raise DataError.of(
            {"lengths": list(lengths), "shares": list(shares)},
            "expected each length once, and one positive whole number for each, or none.",
        )
    if split not in get_args(SplitName):
        raise DataError.of({"split": split}, "expected standard or writer.")
    if split == "writer" and source != "hwf":
        raise DataError.of(
            {"split": split},
            f", which needs known writers; only hwf has them, not {source}. Use ",
            Setting("split", "standard"),
            ".",
        )
    if image_size is not None and not 4 <= image_size <= 1024:
        raise DataError.of({"image_size": image_size}, "give 4 to 1,024 pixels, or leave it out.")
    if seed < 0:
        raise DataError.of({"seed": seed}, "give zero or a positive integer.")
    for name, size in (("train_size", train_size), ("test_size", test_size)):
        if size is not None and size < 1:
            raise DataError.of({name: size}, "give a positive number of formulas, or leave it out.")
    published = source == "hwf"
    if lengths and not shares:
        shares = [PUBLISHED_SHARES.get(each, 1) if published else 1 for each in lengths]
    usual = _published_sizes(lengths, shares) if published else DEFAULT_SIZES
    sizes = train_size or usual[0], test_size or usual[1]
    plan: Plan = [(length, (train_size, test_size) if published else sizes)]
    if lengths:
        plan = list(zip(lengths, zip(*(_divided(size, shares) for size in sizes), strict=True), strict=True))
    splits = _load(source, data_dir, plan, image_size, split, seed)
    if not lengths:
        return splits[0]
    train, test = (Ragged({n: getattr(s, side) for n, s in zip(lengths, splits, strict=True)}) for side in SIDES)
    return Split(train, test, " ".join(dict.fromkeys(split.note for split in splits)))


def _load(source: Source, data_dir: Any, plan: Plan, image_size: int | None, split: str, seed: int) -> list[Split]:
    if source == "digits":
        return built_in.load(plan, image_size, seed)
    if data_dir is None:
        raise DataError.of(
            {"data": source}, " without ", Setting("data_dir"), f", the folder that holds {HOLDS[source]}; give it."
        )
    root = existing_folder(data_dir, HOLDS[source]).resolve()
    if source == "folder":
        return own_images.load(root, plan, image_size, seed)
    return hwf.load(root, plan, image_size, split, seed)


def _published_sizes(lengths: Sequence[int], shares: Sequence[int]) -> tuple[int, int]:
    """As many formulas as take in all published ones of length 7; without it, 10,000 and 2,000 as in the published set.

    >>> _published_sizes([1, 3, 5, 7], [1, 1, 2, 6]), _published_sizes([3, 5, 7], [1, 2, 6])
    ((10000, 2000), (9000, 1800))
    """
    of = dict(zip(lengths, shares, strict=True))
    return (6_000 * sum(shares) // of[7], 1_200 * sum(shares) // of[7]) if 7 in of else (10_000, 2_000)


def _divided(total: int, shares: Sequence[int]) -> list[int]:
    """A number of formulas in proportion to the shares.

    >>> _divided(10, [1, 1, 2])
    [3, 2, 5]
    """
    ends = [-(-total * part // sum(shares)) for part in accumulate(shares)]
    counts = [end - start for start, end in pairwise([0, *ends])]
    if min(counts) < 1:
        raise DataError(f"{total} formulas in the shares {list(shares)} leave none for some length; ask for more.")
    return counts
