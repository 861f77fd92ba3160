"""Instruments: learn to read three dials from the rounded total of their readings.

Readings are real numbers. Given their total, they have a Gaussian distribution in closed form, so nothing is sampled:
each reading moves by a third of the difference to the total, and the network learns the result.
"""

import torch
from torch import Tensor, nn

import softground as sg

space = sg.reals.Gaussian(3, sigma=0.1)
rule = sg.reals.Equations([[1, 1, 1]], space, tolerance=0.5)  # a total within half a unit counts as correct


def error(predicted: Tensor, feasible: Tensor, readings: Tensor | None) -> dict[str, float]:
    """The root mean square error of readings."""
    found = {"answer_accuracy": feasible.double().mean().item()}
    return found if readings is None else found | {"error": (predicted - readings).square().mean().sqrt().item()}


def examples(count: int, seed: int) -> sg.Examples:
    """Make dials 0 … 10 as 16 noisy lamps around the pointer; training never uses ``symbols``."""
    generator = torch.Generator().manual_seed(seed)
    readings = 10 * torch.rand(count, 3, generator=generator, dtype=torch.float64)
    lamps = torch.exp(-(readings[..., None] - torch.linspace(0, 10, 16)).square() / 2)
    x = lamps + 0.1 * torch.randn(lamps.shape, generator=generator)
    return sg.Examples(x.float(), readings.sum(1).tolist(), symbols=readings)


def reader(seed: int = 0) -> nn.Module:
    """Make one network for all dials."""
    with sg.seeded(seed):
        hidden = [nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU()]
        return nn.Sequential(*hidden, nn.Linear(64, 1), nn.Flatten())


def main(choices: tuple[int, ...] = (50, 100, 200), count: int = 2000) -> float:
    """Train from totals and from readings; return the ratio of their errors on other dials.

    Each is trained for several numbers of epochs. The tested network is the one closest to the totals of further dials,
    which are held out for this choice.
    """
    train, validation, test = examples(count, 0), examples(500, 2), examples(1000, 1)
    task, errors = sg.Task(space, rule, metrics=error), []
    for objective in (sg.training.SemanticLoss(), sg.training.Supervised()):
        found = []
        for epochs in choices:
            stage = sg.Stage("I", objective, epochs, lambda p: torch.optim.AdamW(p, lr=5e-3), sg.learner.one_cycle())
            learner = sg.Learner(task, reader(), [stage]).fit(train)
            missed = torch.tensor(learner.predict(validation.x)).sum(1) - torch.tensor(validation.y)
            found.append((missed.square().mean().item(), epochs, learner))
        errors.append(min(found)[2].evaluate(test)["error"])
        print(f"{min(found)[1]} epochs chosen for {type(objective).__name__}")
    print(f"held-out readings, error: {errors[0]:.3f} from totals, {errors[1]:.3f} from labels")
    return errors[0] / errors[1]


if __name__ == "__main__":
    main()
