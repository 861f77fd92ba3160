"""The six lines train and validate in plain PyTorch, Lightning, Hugging Face, Accelerate, Fabric, skorch and DDP.

The frameworks are those of the extra ``frames``; a test whose framework is absent is skipped.
"""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

import softground as sg
from softground import Between, Categorical, Program, Task
from softground.layer.answer_codes import collate
from softground.layer.grounding_loss import GroundingLoss

SPACE = Categorical([range(4)] * 2)


def product(a: int, b: int) -> int:
    """The same either way round, and different for all other pairs."""
    return 3 * a * b + a + b


TASK = Task(SPACE, Program(product, SPACE))


def data(count: int, seed: int) -> tuple[Tensor, list[Any], Tensor]:
    """One-hot 'images' with noise, answers, and symbols; one answer in eight is a range around it."""
    generator = torch.Generator().manual_seed(seed)
    symbols = torch.randint(4, (count, 2), generator=generator)
    x = torch.eye(4)[symbols] + 0.1 * torch.randn(count, 2, 4, generator=generator)
    exact = [product(a, b) for a, b in symbols.tolist()]
    return x, [Between(a, a + 1) if row % 8 == 0 else a for row, a in enumerate(exact)], symbols


X, Y, _ = data(256, 0)
X_VAL, Y_VAL, Z_VAL = data(64, 1)
ROWS, ROWS_VAL = torch.arange(len(X)), torch.arange(len(X_VAL))


def network() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 4))


def read_right(model: nn.Module) -> float:
    with torch.no_grad():
        return float((model(X_VAL).argmax(-1) == Z_VAL).float().mean())


def test_plain_pytorch() -> None:
    model, loss = network(), GroundingLoss(TASK, answers=Y)
    validation = loss.bind(Y_VAL)
    optimizer = torch.optim.Adam(model.parameters(), 0.02)
    for epoch in range(10):
        loss.gamma, loss.scaled = max(1.0, 3 - epoch), 1.0 if epoch < 5 else 0.0
        for x, rows in DataLoader(TensorDataset(X, ROWS), 32, shuffle=True):
            optimizer.zero_grad()
            loss(model(x), index=rows).backward()
            optimizer.step()
    assert read_right(model) > 0.95
    with torch.no_grad():
        assert float(validation(model(X_VAL), index=ROWS_VAL)) < 0.3


class Pairs(torch.utils.data.Dataset[Any]):
    """Pairs of inputs and the user's own answers."""

    def __len__(self) -> int:
        return len(X)

    def __getitem__(self, row: int) -> tuple[Tensor, Any]:
        return X[row], Y[row]


def test_workers_carry_answers() -> None:
    loss = GroundingLoss(TASK, reduction="none")
    wanted = loss(X, Y)
    loader = DataLoader(Pairs(), 32, num_workers=2, collate_fn=collate)
    found = torch.cat([loss(x, answers) for x, answers in loader])
    torch.testing.assert_close(found, wanted)


class Whole(nn.Module):
    """A model as Hugging Face's Trainer wants it: it returns its loss and its logits."""

    def __init__(self) -> None:
        super().__init__()
        self.network, self.loss = network(), GroundingLoss(TASK, answers=Y)
        self.validation = self.loss.bind(Y_VAL)

    def forward(self, x: Tensor, labels: Tensor) -> dict[str, Tensor]:
        logits = self.network(x)
        return {"loss": (self.loss if self.training else self.validation)(logits, index=labels), "logits": logits}


def test_hugging_face_trainer(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("accelerate")
    rows = [{"x": X[i], "labels": i} for i in range(len(X))]
    validation = [{"x": X_VAL[i], "labels": i} for i in range(len(X_VAL))]
    arguments = transformers.TrainingArguments(
        tmp_path, num_train_epochs=10, per_device_train_batch_size=32, learning_rate=0.02, report_to=[], use_cpu=True,
        eval_strategy="epoch", save_strategy="epoch", load_best_model_at_end=True, disable_tqdm=True,
    )  # fmt: skip

    def right(found: Any) -> dict[str, float]:
        return {"symbols": float((found.predictions.argmax(-1) == Z_VAL[found.label_ids].numpy()).mean())}

    trainer = transformers.Trainer(
        Whole(), arguments, train_dataset=rows, eval_dataset=validation, compute_metrics=right
    )
    trainer.train()
    found = trainer.evaluate()
    assert found["eval_symbols"] > 0.95
    assert found["eval_loss"] < 0.3


def test_lightning(tmp_path: Path) -> None:
    lightning = pytest.importorskip("lightning")

    class Reader(lightning.LightningModule):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.whole, self.direct = Whole(), GroundingLoss(TASK)

        def training_step(self, batch: Any, _: int) -> Tensor:
            return self.whole(*batch)["loss"]  # type: ignore[no-any-return]

        def validation_step(self, batch: Any, _: int) -> None:
            x, rows, answers = batch
            found = self.whole(x, rows)
            torch.testing.assert_close(self.direct(found["logits"], answers), found["loss"])
            self.log("val_loss", found["loss"])

        def predict_step(self, batch: Any, _: int) -> Tensor:
            x, _, answers = batch
            return TASK.posterior(self.whole.network(x), answers).mode

        def configure_optimizers(self) -> Any:
            return torch.optim.Adam(self.parameters(), 0.02)

    def three(batch: Any) -> Any:
        x, rows, answers = zip(*batch, strict=True)
        return torch.stack(x), torch.tensor(rows), collate(list(zip(x, answers, strict=True)))[1]

    validation = DataLoader(list(zip(X_VAL, range(len(X_VAL)), Y_VAL, strict=True)), 32, collate_fn=three)
    model = Reader()
    trainer = lightning.Trainer(
        max_epochs=10, accelerator="cpu", logger=False, enable_progress_bar=False, default_root_dir=tmp_path
    )
    trainer.fit(model, DataLoader(TensorDataset(X, ROWS), 32, shuffle=True), validation)
    assert trainer.validate(model, validation)[0]["val_loss"] < 0.3
    assert float((torch.cat(trainer.predict(model, validation)) == Z_VAL).float().mean()) > 0.95


def test_accelerate() -> None:
    accelerate = pytest.importorskip("accelerate")
    accelerate.state.AcceleratorState._reset_state(True)  # which the Trainer has made
    accelerator = accelerate.Accelerator(cpu=True, mixed_precision="bf16")
    model, loss = network(), GroundingLoss(TASK, answers=Y)
    loader = DataLoader(TensorDataset(X, ROWS), 32, shuffle=True)
    wrapped, optimizer, loader = accelerator.prepare(model, torch.optim.Adam(model.parameters(), 0.02), loader)
    for _ in range(10):
        for x, rows in loader:
            optimizer.zero_grad()
            accelerator.backward(loss(wrapped(x), index=rows))
            optimizer.step()
    assert read_right(model) > 0.95
    assert loss.bind(Y_VAL)(wrapped(X_VAL), index=ROWS_VAL).item() < 0.3


def test_fabric() -> None:
    from lightning_fabric import Fabric

    fabric = Fabric(accelerator="cpu", precision="bf16-mixed")
    model, loss = network(), GroundingLoss(TASK, answers=Y)
    wrapped, optimizer = fabric.setup(model, torch.optim.Adam(model.parameters(), 0.02))
    loader = fabric.setup_dataloaders(DataLoader(TensorDataset(X, ROWS), 32, shuffle=True))
    for _ in range(10):
        for x, rows in loader:
            optimizer.zero_grad()
            fabric.backward(loss(wrapped(x), index=rows))
            optimizer.step()
    assert read_right(model) > 0.95
    assert loss.bind(Y_VAL)(wrapped(X_VAL), index=ROWS_VAL).item() < 0.3


def test_skorch() -> None:
    skorch = pytest.importorskip("skorch")

    class Net(skorch.NeuralNet):  # type: ignore[misc, name-defined]
        def get_loss(self, y_pred: Tensor, y_true: Tensor, *args: Any, **kwargs: Any) -> Tensor:
            return self.criterion_(y_pred, index=y_true)  # type: ignore[no-any-return]

    torch.manual_seed(0)
    net = Net(
        network(), GroundingLoss(TASK, answers=Y), optimizer=torch.optim.Adam, lr=0.02, batch_size=32, max_epochs=12,
        verbose=0,
    )  # fmt: skip
    net.fit(X, ROWS)  # a fifth of the rows validates
    assert read_right(net.module_) > 0.95
    assert net.history[-1, "valid_loss"] < 0.3


TWO = """
import os, sys
sys.path[:0] = {path!r}
import torch, torch.distributed as dist
from test_frameworks import ROWS, TASK, X, Y, network
from softground.layer.grounding_loss import GroundingLoss
dist.init_process_group("gloo", init_method={store!r}, rank=int(sys.argv[1]), world_size=2)
model = torch.nn.parallel.DistributedDataParallel(network())
loss = GroundingLoss(TASK, answers=Y, gamma={gamma}, scaled={scaled})
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for step in range(8):
    rows = ROWS[32 * step + 16 * dist.get_rank():][:16]
    if {scaled} and step == 5:
        rows = rows[:1]
    optimizer.zero_grad()
    loss(model(X[rows]), index=rows).backward()
    optimizer.step()
if dist.get_rank() == 0:
    torch.save((model.module.state_dict(), loss.state_dict()), {out!r})
dist.barrier()
"""


@pytest.mark.parametrize(("gamma", "scaled"), [pytest.param(1.0, 0.0, marks=pytest.mark.slow), (2.0, 1.0)])
def test_two_processes_are_one(tmp_path: Path, gamma: float, scaled: float) -> None:
    """DDP over gloo takes the steps of one process, and u is that of both."""
    out, code = str(tmp_path / "weights.pt"), tmp_path / "two.py"
    path = [str(Path(__file__).parent), str(Path(sg.__file__).parents[1])]
    store = f"file://{tmp_path}/store"
    code.write_text(TWO.format(path=path, store=store, gamma=gamma, scaled=scaled, out=out), encoding="utf-8")
    settings = {**os.environ, "OMP_NUM_THREADS": "1"}
    started = [subprocess.Popen([sys.executable, str(code), rank], env=settings) for rank in "01"]
    assert [process.wait(timeout=120) for process in started] == [0, 0]
    theirs, buffers = torch.load(out)
    model, loss = network(), GroundingLoss(TASK, answers=Y, gamma=gamma, scaled=scaled)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for step in range(8):
        rows = ROWS[32 * step :][:32]
        if scaled and step == 5:
            rows = rows[[0, 16]]
        optimizer.zero_grad()
        loss(model(X[rows]), index=rows).backward()
        optimizer.step()
    for name, weight in model.state_dict().items():
        torch.testing.assert_close(theirs[name], weight, rtol=1e-4, atol=1e-6)
    torch.testing.assert_close(buffers["usage"], loss.usage, rtol=1e-4, atol=1e-6)


def test_no_warning_comes_from_here() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        GroundingLoss(TASK, answers=Y)(X, index=ROWS)
