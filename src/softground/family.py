r"""A family of tasks: several shapes in one data set, read by one network.

A shape is a length, a layout, a rule: whatever gives examples a symbol space and a rule of their own. Every shape
:math:`k` has its own space, rule and law on :math:`S_y`, all share the network's weights θ, and the loss is

.. math:: \ell(\theta) = \frac{1}{N} \sum_k \sum_{j=1}^{N_k} \ell_k(x_j, y_j; \theta) .

A batch is drawn from one shape, so nothing is ever padded, and nothing can be learnt from a padding.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any

from .errors import SoftgroundError
from .task import Task

Shape = Hashable


class Family:
    """Tasks that share one network, by shape.

    Parameters
    ----------
    tasks
        A task for each shape, or a function that makes the task of a shape. The shape of an example is its number of
        sites, unless the data set says otherwise (:class:`~softground.data.Ragged`).
    shapes
        The shapes to train on, where ``tasks`` is a function. It is called again for others, when these are to be read.

    >>> from softground import Categorical, Program
    >>> def total(sites):
    ...     space = Categorical([range(10)] * sites)
    ...     return Task(space, Program(lambda *digits: sum(digits), space), name="sums")
    >>> family = Family(total, [2, 3])
    >>> family, family[4].space.sites
    (Family(sums: 2, 3), 4)
    """

    def __init__(
        self, tasks: Mapping[Any, Task] | Callable[[Any], Task], shapes: Iterable[Shape] | None = None
    ) -> None:
        if isinstance(tasks, Mapping) is (shapes is not None):
            raise SoftgroundError(
                "A family is made from a dict of tasks by shape, or from a function of the shape and the shapes: "
                "Family({2: two, 3: three}) or Family(make, [2, 3])."
            )
        self._make = None if isinstance(tasks, Mapping) else tasks
        self.tasks: dict[Any, Task] = {}
        self._others: dict[Any, Task] = {}
        if shapes is not None and hasattr(shapes, "tolist"):  # an array or a tensor, whose entries are no plain numbers
            shapes = shapes.tolist()
        for shape in shapes if shapes is not None else tasks:  # type: ignore[union-attr]
            if shape in self.tasks:
                raise SoftgroundError(f"The shape {shape!r} was given twice; give each once.")
            self.tasks[shape] = self._fitting(shape, tasks[shape] if isinstance(tasks, Mapping) else tasks(shape))
        names = [str(shape) for shape in self.tasks]
        bad = any("/" in name or not name for name in names) or None in self.tasks
        if not names or len(set(names)) != len(names) or bad:
            raise SoftgroundError(
                f"A family of the shapes {names} was given; expected at least one, not None, with different names that "
                "are not empty and have no '/'."
            )

    def __getitem__(self, shape: Any) -> Task:
        """The task of a shape."""
        if shape in self.tasks:
            return self.tasks[shape]
        if self._make is None:
            raise SoftgroundError(f"No task serves the shape {shape!r}; the family has {self}.")
        if shape not in self._others:
            self._others[shape] = self._fitting(shape, self._make(shape))
        return self._others[shape]

    def serves(self, shape: Any) -> bool:
        """Whether examples of this shape can be read."""
        return shape in self.tasks or self._make is not None

    @property
    def name(self) -> str:
        """The first task's name."""
        return next(iter(self.tasks.values())).name

    def __repr__(self) -> str:
        return f"Family({self.name}: {', '.join(map(str, self.tasks))})"

    def _fitting(self, shape: Any, task: Task) -> Task:
        """The task, if the network that reads the first one's space can read its space too."""
        if not isinstance(task, Task):
            raise SoftgroundError(f"The shape {shape!r} has a {type(task).__name__}; expected a Task.")
        first = next(iter(self.tasks.values()), task).space
        for name in ("categorical", "symbols", "head", "readings"):
            one, other = getattr(first, name, None), getattr(task.space, name, None)
            if one != other:
                raise SoftgroundError(
                    f"The shape {shape!r} has {name} {other!r}, and another shape has {one!r}; one network can only "
                    "read them all if they agree. Give every Categorical the same symbols: Categorical(…, symbols=…)."
                )
        return task
