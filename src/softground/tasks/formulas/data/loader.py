"""One entry to every source of handwritten formulas."""

from os import PathLike
from typing import Literal, get_args

from ....data.checks import existing_folder
from ....data.examples import Split
from ....errors import DataError
from . import digits, folder, hwf
from .alphabet import LONGEST
from .source import DEFAULT_SIZES

Source = Literal["digits", "hwf", "folder"]
SplitName = Literal["standard", "writer"]
HOLDS = {"hwf": "hwf.npz or HWF's original layout", "folder": "one folder of images for each symbol"}


def load(
    source: Source,
    *,
    data_dir: str | PathLike[str] | None = None,
    length: int = 7,
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
    formulas in hands never seen in training. Which images are held out does not depend on the seed.
    """
    if source not in get_args(Source):
        raise DataError(f"Unknown source {source!r}: choose digits, hwf or folder.")
    if not 1 <= length <= LONGEST or length % 2 == 0:
        raise DataError(
            f"No formula has length {length}: digits and operators alternate, so give an odd length, at least 1 and at "
            f"most {LONGEST}."
        )
    if split not in get_args(SplitName):
        raise DataError(f"Unknown split {split!r}: choose standard or writer.")
    if split == "writer" and source != "hwf":
        raise DataError(f"split='writer' needs known writers, which only hwf has, not {source}: use split='standard'.")
    if image_size is not None and not 4 <= image_size <= 1024:
        raise DataError(f"image_size is {image_size}: give 4 to 1,024 pixels, or None for the default.")
    if seed < 0:
        raise DataError(f"seed is {seed}: give zero or a positive integer.")
    for name, size in (("train_size", train_size), ("test_size", test_size)):
        if size is not None and size < 1:
            raise DataError(f"{name} is {size}: give a positive number of formulas, or None for the default.")
    sizes = train_size or DEFAULT_SIZES[0], test_size or DEFAULT_SIZES[1]
    if source == "digits":
        return digits.load(sizes, length, image_size, seed)
    if data_dir is None:
        raise DataError(f"The source {source!r} needs data_dir; give the folder that holds {HOLDS[source]}.")
    root = existing_folder(data_dir, HOLDS[source]).resolve()
    if source == "folder":
        return folder.load(root, sizes, length, image_size, seed)
    return hwf.load(root, (train_size, test_size), length, image_size, split, seed)
