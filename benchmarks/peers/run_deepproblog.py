"""MNIST addition with DeepProbLog: the program of its own example, exact inference with cached circuits.

Program, engine (exact, with its cache of arithmetic circuits), Adam at 1e-3, batches of two queries and normalisation
are those of ``deepproblog/examples/MNIST/addition.py``, which the package ships. DeepProbLog trains with its own
``train_model``; its stop condition is where the clock is read.
"""

from __future__ import annotations

import contextlib
import os

import torch
from deepproblog.dataset import DataLoader, Dataset
from deepproblog.engines import ExactEngine
from deepproblog.model import Model
from deepproblog.network import Network
from deepproblog.query import Query
from deepproblog.train import TrainObject, train_model
from deepproblog.utils.stop_condition import StopCondition
from harness import Part, Run, TimeUp, options, read, sum_accuracy
from network import lenet
from problog.logic import Constant, Term
from torch import Tensor, nn

PROGRAM = """
nn(mnist_net,[X],Y,[0,1,2,3,4,5,6,7,8,9]) :: digit(X,Y).
addition(X,Y,Z) :- digit(X,X2), digit(Y,Y2), Z is X2+Y2.
"""
RATE = 1e-3


class Images:
    """The tensor source: image k of the training pairs, laid end to end."""

    def __init__(self, part: Part) -> None:
        self.images = part.images.flatten(0, 1)

    def __getitem__(self, item: tuple[Term, ...]) -> Tensor:
        return self.images[int(item[0])]


class Additions(Dataset):
    """addition(image 2k, image 2k + 1, sum), with the images as substitutions so that a sum's circuit is made once."""

    def __init__(self, part: Part) -> None:
        self.sums = part.answers.tolist()

    def __len__(self) -> int:
        return len(self.sums)

    def to_query(self, i: int) -> Query:
        x, y = Term("p0"), Term("p1")
        images = {t: Term("tensor", Term("train", Constant(2 * i + k))) for k, t in enumerate((x, y))}
        return Query(Term("addition", x, y, Constant(self.sums[i])), images)


class Clock(StopCondition):
    """Never stops the training by itself: it tells the run of each batch, and the run leaves when the time is up."""

    def __init__(self, run: Run, batch: int) -> None:
        self.run, self.batch, self.last = run, batch, 1

    def is_stop(self, train_object: TrainObject) -> bool:
        if train_object.i != self.last:
            self.last = train_object.i
            left = -self.run.seen % self.run.examples or self.run.examples
            self.run.step(min(self.batch, left))
        return False


def main() -> None:
    given = options(__doc__, batch=2)
    if given.device != "cpu":
        raise SystemExit("DeepProbLog evaluates its circuits on a CPU, one query after the other.")
    train, test = read(given, mean=0.5, sd=0.5)
    classifier = lenet()
    run = Run(given, len(train.images), lambda: sum_accuracy(classifier, test))
    network = Network(nn.Sequential(classifier, nn.Softmax(1)), "mnist_net", batching=True)
    network.optimizer = torch.optim.Adam(classifier.parameters(), lr=RATE)
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        model = Model(PROGRAM, [network], load=False)
        model.set_engine(ExactEngine(model), cache=True)
        model.add_tensor_source("train", Images(train))
        loader = DataLoader(Additions(train), given.batch, shuffle=True, seed=given.seed)
        run.start("deepproblog", {"engine": "exact, cached", "optimizer": "Adam", "rate": RATE, "batch": given.batch})
        with contextlib.suppress(TimeUp):
            train_model(model, loader, Clock(run, given.batch), log_iter=10**9)


if __name__ == "__main__":
    main()
