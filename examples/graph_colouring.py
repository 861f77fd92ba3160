"""Graph colouring: maps of ten countries in four colours, drawn as digits; all that is known is that neighbours differ.

No answer says which colour is which: all 24 renamings of the colours keep every answer, and three labels are the fewest
that settle it. ``print(sg.inspect(task, train.y))`` says both. So three labelled images, the anchors, name the colours.
"""

from typing import Any

import torch

import softground as sg

COUNTRIES, COLOURS = 10, 4
space = sg.Categorical([range(COLOURS)] * COUNTRIES)
rule = sg.CPMpy(lambda z, borders: [z[a] != z[b] for a, b in borders], space)


def examples(count: int, part: Any) -> sg.Examples:
    """Coloured maps, each with borders of its own; training never looks at ``symbols``."""
    chance = torch.Generator().manual_seed(len(part))
    colours = torch.randint(COLOURS, (count, COUNTRIES), generator=chance)
    borders = []
    for row in colours.tolist():
        pairs = [(a, b) for a in range(COUNTRIES) for b in range(a) if row[a] != row[b]]
        chosen = torch.randperm(len(pairs), generator=chance)[:24].sort().values.tolist()
        borders.append(tuple(pairs[i] for i in chosen))
    return sg.Examples(sg.handwritten(colours, part), borders, symbols=colours)


def main(epochs: int = 10, count: int = 300) -> float:
    """Train from borders and three anchors; the held-out share of right colours."""
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
