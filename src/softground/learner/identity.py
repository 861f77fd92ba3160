"""What identifies a run: settings, data and rule, as ``config.json`` keeps them; and how another run differs.

Data are identified by digests. If a data set is read item by item, only its first and its last input count, and not
even these if two readings differ, because then the data set draws at random. A rule is identified by what it says of
some states: pseudo-random ones with the first answers, and known symbols, unchanged and with one site changed, with
their own answers.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ..data.gathered import Gathered
from ..errors import CheckpointError, SoftgroundError
from ..runs.digests import tensor_digest
from ..runs.environment import environment
from ..runs.folder import RunFolder, plain
from ..seeds import untouched
from ..task import Task
from .batches import Batches
from .describe import describe, settings
from .parts import Part
from .settling import deciding

if TYPE_CHECKING:
    from .learner import Learner

STATES, ANSWERS, KNOWN = 256, 8, 32  # what a rule is asked about
SHOWN = 80  # characters of a value in a message


def config_of(learner: Learner, train: list[Part], validation: list[Part] | None = None) -> dict[str, Any]:
    """What ``config.json`` keeps of a run."""
    found = environment()
    rules = {str(part.shape): rule_digest(part.task, part.data) for part in train}
    return {
        "version": found["softground"],
        "task": learner.task.name,
        "recipe": plain(learner.recipe),
        "place": plain(learner.place),
        "settings": settings(learner),
        "choice": plain(deciding(learner.choice_)),
        "chosen": plain(learner.choice_),
        "data": all_digests(train),
        "validation": validation and all_digests(validation),  # decides when a stage ends, and what it keeps
        "rule": rules if train[0].prefix else rules["None"],
        "environment": found,
    }


def all_digests(parts: list[Part]) -> dict[str, Any]:
    """The digests of a data set; those of a family's shapes by their names."""
    if not parts[0].prefix:
        return data_digests(parts[0].data)
    return {"examples": sum(len(part.data) for part in parts)} | {
        "shapes": {
            str(part.shape): data_digests(part.data) | {"positions": describe(part.data.positions)} for part in parts
        }
    }


def data_digests(data: Batches) -> dict[str, Any]:
    """A data set's number of examples, and digests of their inputs, answers and labels."""
    return {
        "examples": len(data),
        "read": "item by item: the first and the last input" if data.inputs is None else "as a whole",
        "inputs": _inputs(data),
        "answers": _digest(data.answers),
        "symbols": None if data.symbols is None else tensor_digest(data.symbols),
        "known": None if data.known is None else tensor_digest(data.known),
        "anchors": None if data.anchors is None else describe(data.anchors),
    }


def _inputs(data: Batches) -> Any:
    if isinstance(data.inputs, Gathered):
        return [tensor_digest(data.inputs.pool), tensor_digest(data.inputs.index)]
    return _items(data) if data.inputs is None else tensor_digest(data.inputs)


def rule_digest(task: Task, data: Batches) -> str | None:
    """What the rule says of some states; None if it is not defined on all of them."""
    space, rule, chance, device = task.space, task.constraint, torch.Generator().manual_seed(0), data.device
    try:
        y = rule.encode(data.answers[:KNOWN]).to(device)
        asked = y[torch.arange(STATES) % min(ANSWERS, len(y))]
        said = [rule.feasible(_states(space, chance, STATES).to(device), asked)]
        if data.symbols is not None:
            known = data.symbols[:KNOWN]
            site = torch.randint(space.sites, (len(known), 1), generator=chance)
            drawn = _states(space, chance, len(known)).gather(1, site)
            other = known.scatter(1, site.to(device), drawn.to(device, known.dtype))
            said += [rule.feasible(known, y), rule.feasible(other, y)]
    except SoftgroundError:  # a rule may be defined only on the states that its inverse proposes
        return None
    return tensor_digest(torch.cat(said))


def refuse_another(folder: RunFolder, config: Mapping[str, Any]) -> None:
    """Raise :class:`CheckpointError` where a run is not the one in the folder, naming all that differs."""
    then, now = folder.read_config(), config
    found = [*_differences(then.get("recipe"), now["recipe"], "recipe")]
    found += _differences(then.get("settings"), now["settings"], "")
    found += _other_data(then.get("data"), now["data"])
    if not found and then.get("validation") != now["validation"]:
        found = ["the validation part has changed"]
    if not found and then.get("rule") != now["rule"]:  # with other data its digest would differ anyway
        found = ["the rule has changed: it judges some states differently"]
    if not found:
        return
    versions = then.get("version"), now["version"]
    if versions[0] != versions[1]:
        found.append(f"(the run was started by softground {_shown(versions[0])}, this is {versions[1]})")
    raise CheckpointError(
        f"The run in {folder.path} is not this one: {'; '.join(found)}. Resume with the settings and data the run was "
        "started with, or start a new run."
    )


def _states(space: Any, chance: torch.Generator, count: int) -> Tensor:
    """Pseudo-random states of a space."""
    if not space.categorical:
        return torch.randn(count, space.sites, generator=chance)
    draws = torch.rand(count, space.sites, generator=chance, dtype=torch.float64)
    return (draws * torch.tensor(space.sizes)).long()


def _items(data: Batches) -> str | None:
    """A digest of the first and the last input of a data set that is read item by item, if it is always the same."""

    def read() -> str:
        with untouched():
            return _digest([describe(data.pair(i)[0]) for i in (0, len(data) - 1)])

    found = read()
    return found if found == read() else None


def _digest(values: list[Any]) -> str:
    """The digest of answers and the like, the same for 7 and ``np.int64(7)``."""
    return hashlib.sha256(json.dumps(values, default=describe).encode()).hexdigest()


def _other_data(then: Any, now: Mapping[str, Any]) -> list[str]:
    then = then if isinstance(then, dict) else {}
    if then.get("examples") != now["examples"]:
        return [f"the training examples were {_shown(then.get('examples'))}, are {now['examples']}"]
    if "shapes" in now or "shapes" in then:
        old, new = then.get("shapes"), now.get("shapes", {})
        old = old if isinstance(old, dict) else {}
        changed = [name for name in {**old, **new} if old.get(name) != new.get(name)]
        return [f"the training examples of shape {name} have changed" for name in changed]
    names = {"inputs": "training inputs", "answers": "training answers", "symbols": "true symbols"}
    names |= {"known": "known symbols", "anchors": "anchors"}
    return [f"the {text} have changed" for name, text in names.items() if then.get(name) != now[name]]


def _differences(then: Any, now: Any, path: str) -> Iterator[str]:
    """Each difference of two JSON values, as a clause."""
    if isinstance(then, dict) and isinstance(now, dict) and then.get("class") == now.get("class"):
        for name in [*then, *(name for name in now if name not in then)]:
            yield from _differences(then.get(name), now.get(name), f"{path}.{name}".lstrip("."))
    elif isinstance(then, list) and isinstance(now, list) and len(then) == len(now):
        for number, (old, new) in enumerate(zip(then, now, strict=True)):
            yield from _differences(old, new, f"{path}.{number}")
    elif then != now:
        yield f"{path} was {_shown(then)}, is {_shown(now)}"


def _shown(value: Any) -> str:
    """A value, or the class of a described object, in a few printable characters."""
    if value is None:
        return "not set"
    text = str(value["class"] if isinstance(value, dict) and "class" in value else value)
    text = "".join(c if c.isprintable() else " " for c in text)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
