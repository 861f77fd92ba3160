"""The device and Lightning Fabric."""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, Any, Literal, get_args

import torch

from ..errors import LearnerError, Setting

if TYPE_CHECKING:
    from lightning_fabric import Fabric

Precision = Literal["32-true", "bf16-mixed"]
PRECISIONS: tuple[Precision, ...] = get_args(Precision)


def chosen_device(device: Literal["auto", "cpu", "cuda"] | str | torch.device) -> torch.device:
    """Return the named device; ``auto`` takes a GPU if there is one."""
    device = str(device)
    if device not in ("auto", "cpu") and not torch.cuda.is_available():
        raise LearnerError.of(
            {"device": device},
            ", but torch sees no GPU. Use ",
            Setting("device", "cpu"),
            " or ",
            Setting("device", "auto"),
            ".",
        )
    if device == "cpu" or not torch.cuda.is_available():
        return torch.device("cpu")
    found = torch.device("cuda" if device == "auto" else device)
    return found if found.index is not None else torch.device("cuda", torch.cuda.current_device())


def make_fabric(device: Literal["auto", "cpu", "cuda"] = "auto", precision: Precision = "32-true") -> Fabric:
    """Make a Fabric for one process, or for those that ``torchrun`` started."""
    from lightning_fabric import Fabric  # here, because it takes longer to import than all the rest

    logging.getLogger("lightning_fabric.utilities.rank_zero").addFilter(_no_advice)
    kind = chosen_device(device).type
    local = int(os.environ.get("LOCAL_WORLD_SIZE", 1))
    nodes = int(os.environ.get("WORLD_SIZE", 1)) // local
    strategy = "ddp" if local * nodes > 1 else "auto"
    fabric = Fabric(accelerator=kind, devices=local, num_nodes=nodes, strategy=strategy, precision=precision)
    fabric.launch()
    return fabric


def _no_advice(record: logging.LogRecord) -> bool:
    """Drop Fabric's advice to use tensor cores for all products: sums over S_y must be exact."""
    return "Tensor Cores" not in record.getMessage()


def tensor_cores(device: torch.device) -> dict[str, bool]:
    """Torch's settings for tensor cores in single precision (TF32 rounds to ten bits)."""
    if device.type != "cuda":
        return {}
    products = torch.get_float32_matmul_precision() != "highest"
    return {"convolutions": torch.backends.cudnn.allow_tf32, "matrix products": products}


def chosen_fabric(own: Fabric | None, device: Literal["auto", "cpu", "cuda"], precision: Precision) -> Fabric:
    """Return the given Fabric, if training can use it, or make one for the device and precision."""
    if precision not in PRECISIONS:
        raise LearnerError.of(
            {"precision": precision}, f"expected one of {', '.join(PRECISIONS)}. For another, give a Fabric."
        )
    if own is None:
        return make_fabric(device, precision)
    if (device, precision) != ("auto", "32-true"):
        raise LearnerError.of(
            {"device": device, "precision": precision}, ", and a Fabric, which has its own. Drop them."
        )
    # By name, because the packages lightning and lightning_fabric have classes of their own.
    kinds = [kind.__name__ for kind in type(getattr(own, "strategy", None)).__mro__]
    if not {"DDPStrategy", "SingleDeviceStrategy"} & {*kinds}:
        raise LearnerError(
            f"A {type(own).__name__} with the strategy {kinds[0]} was given; expected a Fabric on one device or with "
            "DDP, since every process saves and reads the whole network."
        )
    if precision_of(own) == "16-mixed":
        raise LearnerError(
            "The Fabric's precision is 16-mixed, which expects gradients that are not finite now and then, and leaves "
            "their steps out; here they end a run. Use bf16-mixed."
        )
    if own.world_size > 1 and not torch.distributed.is_initialized():
        raise LearnerError(
            f"The Fabric of {own.world_size} processes has not started them. Call fabric.launch() first."
        )
    return own


def precision_of(fabric: Fabric) -> str:
    """The precision that a Fabric computes in, by its name."""
    return str(fabric.strategy.precision.precision)


def everyone(fabric: Fabric, value: object) -> list[Any]:
    """Gather each process's value, in their order; all processes must call this together."""
    world = fabric.world_size
    return [value] if world == 1 else [fabric.broadcast(value, src=rank) for rank in range(world)]
