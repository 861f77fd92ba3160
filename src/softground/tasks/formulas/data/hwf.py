"""HWF, the handwritten formulas of Li et al. (2020), from either layout and with either split."""

from __future__ import annotations

from pathlib import Path

from ....data.examples import Split
from ....data.images import resize
from ....errors import DataError
from . import archive, original, writers
from .listing import Published
from .source import examples


def load(
    data_dir: Path,
    length: int,
    train_size: int | None,
    test_size: int | None,
    split: str,
    image_size: int | None,
    seed: int,
) -> Split:
    """The published formulas of one length. Only the writer split, which redraws images, uses the seed."""
    packed = data_dir / archive.FILE
    if packed.is_file():
        published = archive.read(packed, length, train_size, test_size)
        origin = "HWF, reconstructed from CROHME strokes"
    elif any((data_dir / file).is_file() for file in original.FILES):
        published = original.read(data_dir, length, train_size, test_size)
        origin = f"HWF, as found in its published layout in {data_dir.name}"
    else:
        raise DataError(f"{data_dir} holds neither {archive.FILE} nor {' and '.join(original.FILES)}: put HWF there.")
    if split == "writer":
        try:
            published = writers.redraw(published, seed)
        except DataError as error:
            raise DataError(f"{data_dir}: {error}") from error
        remark = "published formulas shown by images of disjoint sets of writers, not the published images"
    else:
        remark = f"published split, {_overlap(published):.0%} of whose test slots show an image also used in training"
    images = published.images if image_size is None else resize(published.images, image_size)
    return Split(
        examples(images, published.train.index, published.train.codes),
        examples(images, published.test.index, published.test.codes),
        f"{origin}; {remark}.",
    )


def _overlap(published: Published) -> float:
    """Share of test slots whose very pixels occur in training."""
    pixels = [image.tobytes() for image in published.images]
    seen = {pixels[at] for at in published.train.index.ravel()}
    slots = published.test.index.ravel()
    return sum(pixels[at] in seen for at in slots) / len(slots)
