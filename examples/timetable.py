"""A timetable in CPMpy: learn the handwritten hours of seven lessons from a count for each hour.

Only the number of lessons that begin in each hour of a day is known. A teacher gives one lesson at a time, a double
lesson takes two hours, and there are three rooms.
"""

from typing import Any

import cpmpy as cp
import torch

import softground as sg
from softground.inverses import solutions

HOURS, ROOMS = range(1, 6), 3
LENGTHS = [2, 1, 1, 1, 1, 1, 1]  # the first lesson is a double one, and begins before the last hour
TEACHERS = [[2, 3, 4], [5, 6]]  # and the first two lessons have a teacher each

space = sg.Categorical([range(1, 5), *[HOURS] * 6])


def timetable(z: Any, tally: Any) -> list[Any]:
    """Constrain a day's lessons and the number that begin in each hour; ``z`` holds CPMpy variables."""
    day = [cp.AllDifferent(z[lessons]) for lessons in TEACHERS]
    day += [cp.Cumulative(z, LENGTHS, demand=1, capacity=ROOMS)]
    return day + [cp.Count(z, hour) == number for hour, number in zip(HOURS, tally, strict=False)]


rule = sg.CPMpy(timetable, space)


def examples(count: int, part: Any) -> sg.Examples:
    """Make days with their tallies; training never uses ``symbols``."""
    chance = torch.Generator().manual_seed(len(part))
    every = space.states(solutions(sg.inverses.CPSAT(rule), rule.encode([()])).index)  # no tally: all timetables
    codes = every[torch.randint(len(every), (count,), generator=chance)]
    tallies = [tuple(row.bincount(minlength=len(HOURS)).tolist()) for row in codes]
    return sg.Examples(sg.handwritten(codes + 1, part), tallies, symbols=codes)


def main(epochs: int = 10, count: int = 500) -> float:
    """Train from tallies; return the held-out accuracy of hours."""
    train, test = examples(count, "train"), examples(count, "test")
    task = sg.Task(space, rule)
    with sg.seeded(0):
        network = sg.default_network(train.x, space)
    learner = sg.Learner(task, network, sg.grounding_stages(task, epochs=epochs), batch_size=16)
    learner.fit(train)
    figures = learner.evaluate(test)
    print(f"held-out days {figures['answer_accuracy']:.1%}, hours {figures['symbol_accuracy']:.1%}")
    return figures["symbol_accuracy"]


if __name__ == "__main__":
    main()
