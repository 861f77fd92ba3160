"""Graph colouring: learn four colours, drawn as digits, from maps of ten countries whose neighbours differ.

Answers cannot name the colours: all 24 renamings of the colours keep every answer, and at least three labels are needed
to choose one. ``print(sg.inspect(task, train.y))`` shows both. So three labelled images, the anchors, name the colours.
"""

from typing import Any

import torch

import softground as sg

COUNTRIES, COLOURS = 10, 4
space = sg.Categorical([range(COLOURS)] * COUNTRIES)
rule = sg.CPMpy(lambda z, borders: [z[a] != z[b] for a, b in borders], space)


def examples(count: int, part: Any) -> sg.Examples:
    """Make coloured maps, each with its own borders; training never uses ``symbols``."""
    chance = torch.Generator().manual_seed(len(part))
    colours = torch.randint(COLOURS, (count, COUNTRIES), generator=chance)
    borders = []
    for row in colours.tolist():
        pairs = [(a, b) for a in range(COUNTRIES) for b in range(a) if row[a] != row[b]]
        chosen = torch.randperm(len(pairs), generator=chance)[:24].sort().values.tolist()
        borders.append(tuple(pairs[i] for i in chosen))
    return sg.Examples(sg.handwritten(colours, part), borders, symbols=colours)


def main(epochs: int = 10, count: int = 300) -> float:
    """Train from borders and three anchors; return the held-out accuracy of colours."""
    train, test = examples(count, "train"), examples(count, "test")
    anchors = sg.Anchors(sg.handwritten(torch.arange(3), "train"), [0, 1, 2])
    task = sg.Task(space, rule)
    with sg.seeded(0):
        network = sg.default_network(train.x, space)
    learner = sg.Learner(task, network, sg.grounding_stages(task, epochs=epochs), batch_size=16)
    learner.fit(train, anchors=anchors)
    figures = learner.evaluate(test)
    print(f"held-out maps {figures['answer_accuracy']:.1%}, colours {figures['symbol_accuracy']:.1%}")
    return figures["symbol_accuracy"]


if __name__ == "__main__":
    main()
