"""Slips of users: each has the outcome that was written down before it was tried, and none is silent and wrong."""

from __future__ import annotations

import copy
import json
import pickle
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import softground as sg
from softground.errors import SoftgroundError
from softground.inverses import Listing

LIST = json.loads((Path(__file__).parent / "slips" / "slips.json").read_text())
SITES, SYMBOLS, IMAGE = 2, 4, (1, 8, 6)  # which are not square
INK = torch.Generator().manual_seed(5)
SHAPES = (torch.rand(SYMBOLS, *IMAGE, generator=INK) < 0.3).float()


def add(a: Any, b: Any) -> Any:
    return a + 2 * b


def space(low: int = 0) -> sg.Categorical:
    return sg.Categorical([range(low, low + SYMBOLS)] * SITES)


def drawn(count: int, seed: int) -> tuple[Tensor, Tensor]:
    """Images of ink from 0 to 1, and the symbols that they show."""
    chance = torch.Generator().manual_seed(seed)
    symbols = torch.randint(SYMBOLS, (count, SITES), generator=chance)
    noise = 0.2 * torch.rand(count, SITES, *IMAGE, generator=chance)
    return (SHAPES[symbols] - noise).abs(), symbols


def network() -> nn.Module:
    with sg.seeded(1):
        return sg.PerSite(nn.Sequential(nn.Flatten(), nn.Linear(48, SYMBOLS)), IMAGE)


X, TRUE = drawn(256, 0)
Y = [add(a, b) for a, b in TRUE.tolist()]
ROUND = (16 * X).round() / 16  # numbers that half precision holds too


def learner(x: Any = X, y: Any = Y, rule: Any = None, **given: Any) -> sg.Learner:
    own = rule or sg.Program(add, space())
    stages = given.pop("stages", None) or sg.grounding_stages
    anchors, known = given.pop("anchors", None), given.pop("known", None)
    one = sg.Learner(sg.Task(own.space, own), network(), stages, **given)
    return one.fit(sg.Examples(x, y, known=known), anchors=anchors, quiet=True)


def estimator(x: Any = X, y: Any = Y, rule: Any = None, **given: Any) -> sg.SoftGrounder:
    known = given.pop("known", None)
    made = given.pop("network", network())
    return sg.SoftGrounder(rule or sg.Program(add, space()), network=made, epochs=8, **given).fit(x, y, known=known)


FIT = {"learner": learner, "estimator": estimator}


@cache
def trained(through: str, kind: str = "floats") -> Any:
    x = {
        "floats": X,
        "rounded": ROUND,
        "binary": (X > 0.5).float(),
        "bytes": (X * 255).byte(),
        "levels": (16 * X).round(),
    }[kind]
    if through == "model":
        import tempfile

        with tempfile.TemporaryDirectory() as folder:
            trained("learner", kind).save(folder)
            return sg.load(folder)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return FIT[through](x)


def states(found: Any) -> Any:
    return np.asarray(found).tolist()


def outcome(slip: Callable[[], Any], right: Callable[[Any], bool]) -> tuple[str, str]:
    """What comes of a slip, and what is said of it."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            found = slip()
        except SoftgroundError as error:
            return "raises", str(error)
    if words := [str(each.message) for each in said if issubclass(each.category, UserWarning)]:
        return "warns", " ".join(words)
    return ("same" if right(found) else "silent and wrong"), ""


def reads(change: Callable[[Tensor], Any], kind: str = "floats") -> Callable[[str], tuple[str, str]]:
    """Predict from changed inputs."""
    base = {
        "floats": X,
        "rounded": ROUND,
        "binary": (X > 0.5).float(),
        "bytes": (X * 255).byte(),
        "levels": (16 * X).round(),
    }[kind]

    def slip(through: str) -> tuple[str, str]:
        model = trained(through, kind)
        return outcome(lambda: states(model.predict(change(base))), lambda z: bool(z == states(model.predict(base))))

    return slip


def fits(x: Any = X, y: Any = Y, **given: Any) -> Callable[[str], tuple[str, str]]:
    """Train with something changed."""

    def slip(through: str) -> tuple[str, str]:
        wanted = states(trained(through).predict(X))
        return outcome(lambda: states(FIT[through](x, y, **given).predict(X)), lambda z: bool(z == wanted))

    return slip


def with_one(value: float) -> Callable[[Tensor], Tensor]:
    def change(x: Tensor) -> Tensor:
        x = x.clone()
        x[7, 1, 0, 2, 3] = value
        return x

    return change


def grown(x: Tensor) -> Tensor:
    return x.clone().requires_grad_() * 1.0


def inferred(x: Tensor) -> Tensor:
    with torch.inference_mode():
        return x + 0.0


def turned(x: Tensor) -> Any:
    return np.ascontiguousarray(x.numpy()[::-1])[::-1]


def scipy_sparse(x: Tensor) -> Any:
    return pytest.importorskip("scipy.sparse").csr_matrix(x.flatten(1).numpy())


def own_loop(codes: Any, rule: Any = None, belief: Any = None, gamma: float = 1.0) -> Tensor:
    rule = rule or RULE
    belief = rule.space.belief(LOGITS) if belief is None else belief
    return sg.Task(rule.space, rule).inverse.law(sg.Target(belief, codes, gamma)).log_mass()


RULE = sg.Program(add, space())
LOGITS = torch.randn(len(Y), SITES, SYMBOLS, generator=torch.Generator().manual_seed(2))
EXACT = own_loop(RULE.encode(Y), belief=RULE.space.belief(LOGITS.double()))


def law(
    slip: Callable[[], Any], right: Callable[[Any], bool] = lambda found: False
) -> Callable[[str], tuple[str, str]]:
    return lambda through: outcome(slip, right)


def other_process(rule: sg.Program) -> Tensor:
    """Codes as a worker of a DataLoader makes them: of a copy of the rule that has seen other answers."""
    far = copy.deepcopy(rule)
    far.encode([9, 8, 7])
    return pickle.loads(pickle.dumps(far.encode(Y)))  # type: ignore[no-any-return]


def contradicted() -> Tensor:
    known = torch.full((len(Y), SITES), -1)
    known[3] = (TRUE[3] + 1) % SYMBOLS
    return (
        sg.Task(RULE.space, RULE)
        .inverse.law(sg.Target(RULE.space.belief(LOGITS).given(known), RULE.encode(Y), 1.0))
        .mode()
    )


def half(context: bool) -> Tensor:
    listing = Listing(RULE.space, RULE.space.states(torch.arange(5)))
    if context:
        with torch.autocast("cpu", torch.bfloat16):
            return listing.law(sg.Target(RULE.space.belief(LOGITS), torch.zeros(len(Y)).long(), 1.0)).log_mass()
    return own_loop(RULE.encode(Y), belief=RULE.space.belief(LOGITS.bfloat16()))


def near(wanted: Callable[[], Tensor]) -> Callable[[Any], bool]:
    return lambda found: bool((found.double() - wanted().double()).abs().max() < 1e-5)


def listed_mass() -> Tensor:
    listing = Listing(RULE.space, RULE.space.states(torch.arange(5)))
    belief = RULE.space.belief(LOGITS.double())
    return listing.law(sg.Target(belief, torch.zeros(len(Y)).long(), 1.0)).log_mass()


def rounded_mass() -> Tensor:
    return own_loop(RULE.encode(Y), belief=RULE.space.belief(LOGITS.bfloat16().double()))


def boolean_last() -> list[Any]:
    rule = sg.Program(lambda a, b: (a + b, a < b), space(), vectorised=True)
    return rule.compute(rule.space.encode([(1, 2), (2, 1)]))


class Softmax(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = network()

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = self.inner(x).softmax(-1)
        return found


def probable(through: str) -> tuple[str, str]:
    if through == "law":
        return outcome(lambda: own_loop(RULE.encode(Y), belief=space().belief(LOGITS.softmax(-1))), lambda z: False)
    rule = sg.Program(add, space())
    one = sg.Learner(sg.Task(rule.space, rule), Softmax())
    return outcome(lambda: one.fit(sg.Examples(X, Y), quiet=True), lambda z: False)


def flattened(through: str) -> tuple[str, str]:
    def slip() -> Any:
        flat, rule = X[..., :6, :].flatten(1), sg.Program(add, space())
        if through == "estimator":
            return sg.SoftGrounder(rule, epochs=1).fit(flat, Y)
        made = sg.default_network(flat, rule.space)
        return sg.Learner(sg.Task(rule.space, rule), made).fit(sg.Examples(flat, Y), quiet=True)

    return outcome(slip, lambda z: False)


def one_after_another(through: str) -> tuple[str, str]:
    def slip() -> Any:
        own = sg.Program(add, space())
        task = sg.Task(own.space, own)
        stages = sg.grounding_stages(task)
        sg.Learner(task, network(), stages).fit(sg.Examples(X, Y), quiet=True)
        rule = sg.Program(add, space())
        return states(
            sg.Learner(sg.Task(rule.space, rule), network(), stages).fit(sg.Examples(X, Y), quiet=True).predict(X)
        )

    return outcome(slip, lambda z: bool(z == states(trained("learner").predict(X))))


def other_stages(through: str) -> tuple[str, str]:
    other = space()
    stages = sg.grounding_stages(sg.Task(other, sg.Program(lambda a, b: a * b, other)))
    return fits(stages=stages)(through)


def changing(what: str) -> Callable[[str], tuple[str, str]]:
    def slip() -> Any:
        x, y = X.clone(), list(Y)
        data, rule = sg.Examples(x, y), sg.Program(add, space())

        def observer(event: str, facts: Any) -> None:
            if event == "epoch" and what == "inputs":
                x.mul_(0.5)

        if what == "answers":
            y[:] = [0] * len(y)
        one = sg.Learner(sg.Task(rule.space, rule), network())
        return states(one.fit(data, observer=observer, quiet=True).predict(X))

    return lambda through: outcome(slip, lambda z: bool(z == states(trained("learner").predict(X))))


def unsteady() -> Any:
    seen = [0]

    def rule(a: Any, b: Any) -> Any:
        seen[0] += 1
        return add(a, b) if seen[0] % 3 else 0

    return sg.Program(rule, space())


def shifted(through: str) -> tuple[str, str]:
    rule = sg.Program(add, space(1))
    y = [add(a + 1, b + 1) for a, b in TRUE.tolist()]
    known = (TRUE + 1).clamp(max=SYMBOLS - 1)  # as symbols; that of code 3 is left out
    known[TRUE == SYMBOLS - 1] = -1
    return outcome(lambda: FIT[through](X, y, rule, known=known), lambda z: False)


def wrong_known(through: str) -> tuple[str, str]:
    known = torch.full((len(Y), SITES), -1)
    known[3] = (TRUE[3] + 1) % SYMBOLS
    return fits(known=known)(through)


def alphabets(rule: Any, given: Any) -> Callable[[str], tuple[str, str]]:
    return lambda through: outcome(lambda: FIT[through](X, Y, sg.Program(rule, sg.Categorical(given))), lambda z: False)


TRY: dict[str, Callable[[str], tuple[str, str]]] = {
    "float64 instead of float32": reads(lambda x: x.double()),
    "float16 instead of float32, numbers that both hold": reads(lambda x: x.half(), "rounded"),
    "int64 after bytes, the same numbers": reads(lambda x: x.long(), "bytes"),
    "booleans after floats 0 and 1": reads(lambda x: x.bool(), "binary"),
    "inverted ink: 1 - x": reads(lambda x: 1 - x),
    "centred: 2 x - 1": reads(lambda x: 2 * x - 1),
    "standardised to mean 0 and spread 1": reads(lambda x: (x - x.mean()) / x.std()),
    "scaled down: x / 255": reads(lambda x: x / 255),
    "all black": reads(lambda x: 0 * x),
    "one NaN": reads(with_one(float("nan"))),
    "one infinite number": reads(with_one(float("inf"))),
    "complex numbers": reads(lambda x: x.to(torch.complex64)),
    "a sparse tensor": reads(lambda x: x.to_sparse()),
    "a sparse matrix of scipy": reads(scipy_sparse),
    "a tensor that requires gradients": reads(lambda x: x.clone().requires_grad_()),
    "a tensor with a graph attached": reads(grown),
    "a tensor made in inference mode": reads(inferred),
    "a numpy array with negative strides": reads(turned),
    "channels last": reads(lambda x: x.movedim(2, -1)),
    "one example without the batch axis": reads(lambda x: x[0]),
    "sites first, examples second": reads(lambda x: x.transpose(0, 1)),
    "one site too many": reads(lambda x: torch.cat([x, x[:, :1]], 1)),
    "images turned on their side, height and width exchanged": reads(lambda x: x.transpose(-1, -2)),
    "a list of one array per site": reads(lambda x: [x[:, 0].numpy(), x[:, 1].numpy()]),
    "a column of shape [examples, 1]": fits(y=torch.tensor(Y)[:, None]),
    "floats that are whole": fits(y=[float(y) for y in Y]),
    "texts of the numbers": fits(y=[str(y) for y in Y]),
    "all unknown": fits(y=[None] * len(Y)),
    "one-hot rows": fits(y=nn.functional.one_hot(torch.tensor(Y))),
    "columns of a collated batch instead of rows": fits(y=torch.utils.data.default_collate([(y, y) for y in Y])),
    "digits as texts": alphabets(add, ["0123"] * SITES),
    "one alphabet instead of one per site": alphabets(add, range(SYMBOLS)),
    "stages built for another task": other_stages,
    "one list of stages for two learners": one_after_another,
    "contradict the answer of example 3": wrong_known,
    "symbols as a tensor where codes are meant, alphabet 1 to 9": shifted,
    "answers changed after the examples were made": changing("answers"),
    "inputs changed while it trains": changing("inputs"),
    "a rule that answers differently when asked twice": lambda through: fits(rule=unsteady())(through),
    "codes of a copy that has seen other answers": law(lambda: own_loop(other_process(RULE))),
    "train on bytes 0 to 255, predict the same numbers as floats": reads(lambda x: x.float(), "bytes"),
    "train on floats 0 to 16, predict the same numbers as bytes": reads(lambda x: x.round().byte(), "levels"),
    "train on floats 0 to 1, predict 0 to 255": reads(lambda x: 255 * x),
    "answers not encoded, a tensor of them in an own loop": law(lambda: own_loop(torch.tensor(Y))),
    "Target(belief, codes, 0.1)": law(lambda: own_loop(RULE.encode(Y), gamma=0.1)),
    "8 outputs, 4 answers": law(lambda: own_loop(RULE.encode(Y[:4]))),
    "probabilities instead of logits": probable,
    "an impossible answer in an own loop": law(lambda: own_loop(RULE.encode([99, *Y[1:]]))),
    "a vectorised rule whose last value is a Boolean": law(boolean_last, lambda z: bool(z == [(3, 1), (3, 0)])),
    "images flattened into one row per example": flattened,
    "S1: answers where codes are wanted": law(lambda: own_loop(torch.tensor(Y))),
    "S2: codes of another process": law(lambda: own_loop(other_process(RULE))),
    "S3: known symbols that contradict the answer": law(contradicted),
    "S4: logits in bfloat16": law(lambda: half(False), near(rounded_mass)),
    "S5: a law inside autocast": law(lambda: half(True), near(listed_mass)),
    "S6: tuple answers collated by columns": law(
        lambda: sg.Program(lambda a, b: (a, b), space()).encode(torch.utils.data.default_collate([(1, 2), (3, 4)]))
    ),
    "S7: answers of a type that the rule never gives": law(lambda: RULE.encode([(3,)])),
    "S8: an impossible answer": law(lambda: own_loop(RULE.encode([98, *Y[1:]]), rule=None)),
    "S9: fewer answers than inputs": law(lambda: own_loop(RULE.encode(Y[:5]))),
    "S10: a temperature without Target.at": law(lambda: own_loop(RULE.encode(Y), gamma=0.3)),
}


def cases() -> list[Any]:
    every = [each for part in ("first look", "layer", "further") for each in LIST[part]]
    assert {each["slip"] for each in every} == TRY.keys()
    return [
        pytest.param(each, through, id=f"{each['slip']} [{through}]") for each in every for through in each["through"]
    ]


@pytest.mark.parametrize(("slip", "through"), cases())
def test_no_slip_is_silent_and_wrong(slip: dict[str, Any], through: str) -> None:
    kind, said = TRY[slip["slip"]](through)
    assert kind in slip["expect"].split(" or "), f"{kind}: {said}"
    assert kind == "same" or slip.get("says", "").lower() in said.lower(), said


def test_training_was_right() -> None:
    for through in ("learner", "estimator", "model"):
        assert (np.asarray(trained(through).predict(X)) == TRUE.numpy()).mean() > 0.95
