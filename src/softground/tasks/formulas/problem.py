"""``hwf``: handwritten formulas as a ready-made problem."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal

from torch import Tensor, nn

from ...constraints.program import Program
from ...data.examples import Split
from ...dice import stream
from ...errors import LearnerError
from ...experiments.problem import EXACT, TASKS, Problem
from ...experiments.recipe import Recipe
from ...files import Json
from ...inverses import INVERSES, Inverse, default_inverse
from ...metrics import accuracies
from ...networks import PerSite, Standardise
from ...projections import ChangeOne, Drop, RandomDrop, Walk
from ...spaces.categorical import Readings
from ...task import Family, Task
from ...training import Teacher
from .completions import LongFormulas, enumeration
from .data import Source, SplitName, load
from .rule import formula_program

METRICS = partial(accuracies, name="calculation_accuracy")  # the paper's figure
WIDEST = 7  # symbols of a window: 46,656 candidates each
LONGEST_TABULATED = 9  # symbols; longer formulas have no table by default
PRESETS: dict[str, Json] = {
    # As the authors' code: it keeps the network with the most right training answers, its network knows no grammar, and
    # Stage II has a weight decay, which the paper does not mention.
    "paper": {"marginals": True, "keep": "best", "readings": "all", "zero_weight_decay": 5e-4},
    "best": EXACT
    | {"network": "convnet", "epochs": 60, "batch_size": 128, "learning_rate": 5e-3, "augment": True}
    | {"readings": "all"},
}


# Formulas without a table: chains on windows, with as many steps between gradients as they need, and a schedule that
# waits until the network explains half of the answers.
LONG: Json = {"kernel": "several", "steps": 0, "epochs": 40, "wait": 200, "evaluate_every": 10}


def _auto(program: Program, **solver: Any) -> Inverse:
    short = program.space.sites <= LONGEST_TABULATED
    return default_inverse(program, program.space) if short else enumeration(program)


def _z3(program: Program, **solver: Any) -> Inverse:
    from ...constraints.smt import SMT
    from ...inverses.z3 import Z3
    from .rule import formula_rule

    return Z3(SMT(formula_rule, program.space, answers=program), **solver)


FORMULA_INVERSES = INVERSES | {"auto": _auto, "enumeration": lambda program, **solver: enumeration(program), "z3": _z3}


@TASKS.register("hwf")
@dataclass(frozen=True, kw_only=True)
class Formulas(Problem):
    """Handwritten formulas: recognise digits and operators from the values of formulas alone."""

    name: ClassVar[str] = "hwf"
    inverses = FORMULA_INVERSES

    data: Source = "digits"
    """digits: scikit-learn's handwritten digits, drawn operators (built in); hwf: the HWF set; folder: your images."""
    data_dir: Path | None = None
    """The folder of the hwf or folder data."""
    length: int = 7
    """Symbols per formula, an odd number."""
    lengths: tuple[int, ...] = ()
    """Several lengths in one data set, such as 1 3 5 7. Those that HWF does not have are made of its images."""
    shares: tuple[int, ...] = ()
    """How many formulas of each length, in proportion (default: as published for HWF, 1 1 2 6; else equal)."""
    train_size: int | None = None
    """Training formulas (default: all there are; 3,000 for digits and folder)."""
    test_size: int | None = None
    """Test formulas (default: all there are; 1,000 for digits and folder)."""
    split: SplitName = "standard"
    """hwf only: the standard split, or one whose test images come from writers not seen in training."""
    image_size: int | None = None
    """Resize images to this many pixels a side."""
    readings: Readings | None = None
    """all: any of the 13 symbols anywhere, as in the paper; grammatical: only where they belong."""

    ink: Literal["bright", "dark"] = "bright"
    """What the network sees: ink 1 on paper 0 (bright), or ink 0 on paper 1 (dark), as in the authors' code."""
    window: int = 5
    """Without a table: how many neighbouring symbols a chain redraws together, an odd number; 1 for any two symbols."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.window < 1 or self.window % 2 == 0 or self.window > WIDEST:
            raise LearnerError.of({"window": self.window}, f"expected an odd number up to {WIDEST}.")

    def load(self, seed: int) -> Split:
        options = asdict(self)
        del options["readings"], options["window"], options["ink"]
        return load(options.pop("data"), **options, seed=stream(seed, "data"))

    def task(self, inverse: str = "auto", **solver: Any) -> Task | Family:
        readings = self.readings or "grammatical"
        if not self.lengths:
            return formula_task(self.length, inverse, readings, **solver)
        return Family(lambda length: formula_task(length, inverse, readings, mixed=True, **solver), self.lengths)

    def network(self, recipe: Recipe, x: Tensor, space: Any) -> nn.Module:
        """One classifier that reads the image of each site; it turns dark ink around itself, wherever it is used."""
        network = super().network(recipe, x, space)
        if self.ink == "dark":
            assert isinstance(network, PerSite)
            network.classifier = nn.Sequential(Standardise(1.0, -1.0), network.classifier)
        return network

    def preset(self, name: str, given: Mapping[str, Any]) -> Json:
        values = dict(PRESETS[name])
        if (
            values.get("kernel") == "exact"
            and "kernel" not in given
            and max(self.lengths or [self.length]) > LONGEST_TABULATED
        ):
            values |= LONG
        if name == "paper":  # a shorter run has a shorter warm-up too
            values["warmup"] = min(10, given.get("epochs", 110) * 10 // 110)
        return values

    def grounding(self, recipe: Recipe, task: Task) -> Teacher:
        """Among other lengths, a formula of one symbol is drawn as it is: it leaves nothing to project."""
        exact = bool(self.lengths) and task.space.sites < 3
        return super().grounding(replace(recipe, kernel="exact") if exact else recipe, task)

    def walk(self, task: Task) -> Walk:
        """The paper's kernel drops the third and fifth symbols, the others a random pair, or window, at every step."""
        space = task.space
        if space.sites < 3:
            raise LearnerError(f"A formula of length {space.sites} leaves nothing to project; use the exact kernel.")
        drop = Drop(space, [2, 4] if space.sites > 4 else [0])
        windows = [range(first, first + self.window) for first in range(0, space.sites - self.window + 1, 2)]
        wide = self.window > 1 and isinstance(task.inverse, LongFormulas)
        return Walk(task.inverse, space, drop, RandomDrop(space, windows if wide else 2), ChangeOne(space))


def formula_task(
    length: int = 7, inverse: str = "auto", readings: Readings = "grammatical", mixed: bool = False, **solver: Any
) -> Task:
    """Formulas of a length as a task, ``mixed`` with other lengths or not.

    ``solver`` are settings of the Z3 inverse, for ``inverse="z3"``.
    """
    program = formula_program(length, readings, mixed)
    return Task(program.space, program, FORMULA_INVERSES[inverse](program, **solver), METRICS, "hwf")
