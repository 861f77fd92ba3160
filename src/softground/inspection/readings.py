"""After training: which other readings of the symbols would have explained the training data as well.

What the network reads in examples that it explains are combinations with answers. A map of symbols that fits them all
would turn the network into another one that explains as much: the answers cannot tell the two apart. The search is
short, and ends by a count of images tried, not by a clock: the same run has the same summary.
"""

from typing import Any

import torch
from torch import Tensor

from ..task import Task
from .maps import BRIEF, MapSearch
from .support import Support
from .time_limit import TimeLimit

MOST_READINGS = 2_000


def other_maps(task: Task, z: Tensor, y: Tensor) -> dict[str, Any] | None:
    """What fits the readings ``z`` of examples with encoded answers ``y``, as plain values and in words.

    None where there are no readings, or symbols are reals.
    """
    if not task.space.categorical or not len(z):
        return None
    flat = torch.cat([z, y.reshape(len(y), -1)], 1)[:MOST_READINGS].cpu()
    rows = torch.unique(flat, dim=0)
    z, y = rows[:, : z.shape[1]], rows[:, z.shape[1] :].reshape(-1, *y.shape[1:])
    found = MapSearch(task, Support(z, y, ""), TimeLimit(), work=BRIEF).found(labels=False)
    every, one = found.every, found.one_to_one
    plain: dict[str, Any] = {"combinations": len(z), "maps": every.count, "one_to_one": one.count}
    plain |= {"finished": every.finished and one.finished, "disagree": list(every.disagree)}
    plain |= {"examples": list(found.examples), "never_read": list(found.absent)}
    return plain | {"text": _words(plain)}


def _words(found: dict[str, Any]) -> str:
    """The summary's figures in sentences."""
    others, one, least = found["maps"] - 1, found["one_to_one"] - 1, "" if found["finished"] else "at least "
    words = (
        f"In training examples that it explains the network reads {found['combinations']:,} different combinations. "
    )
    if others:
        words += (
            f"Besides itself, {least}{others:,} map{'s' * (others > 1)} of symbols, {least}{one:,} one-to-one, would "
            f"turn them into others that explain these answers as well, such as {'; '.join(found['examples'])}. The "
            "answers cannot tell which of these networks it is: labels of a few symbols can (see softground inspect)."
        )
    else:
        sure = "that was found would" if least else "would"
        words += (
            f"No other map of symbols {sure} turn them into others that explain these answers as well. That does not "
            "prove them right: a network that reads several symbols as one has fewer combinations to change."
        )
    if found["never_read"]:
        words += f" It never reads {{{' '.join(found['never_read'])}}}: where these occur, it takes them for others."
    return words
