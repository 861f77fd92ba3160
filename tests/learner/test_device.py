"""Tensor cores: what is on record of them, and that Fabric does not advise to multiply laws by them."""

from __future__ import annotations

import logging

import pytest
import torch

from softground.learner import device


def test_a_gpus_tensor_cores_are_on_record(monkeypatch: pytest.MonkeyPatch) -> None:
    assert device.tensor_cores(torch.device("cpu")) == {}
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", True)
    assert device.tensor_cores(torch.device("cuda")) == {"convolutions": True, "matrix products": False}
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)
    monkeypatch.setattr(torch, "get_float32_matmul_precision", lambda: "high")
    assert device.tensor_cores(torch.device("cuda")) == {"convolutions": False, "matrix products": True}


def test_fabrics_advice_about_them_is_left_out() -> None:
    told = list[str]()

    class Listening(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            told.append(record.getMessage())

    device.make_fabric("cpu")
    log, ear = logging.getLogger("lightning_fabric.utilities.rank_zero"), Listening()
    log.addHandler(ear)
    try:
        log.info("You are using a CUDA device ('X') that has Tensor Cores. To properly utilize them, …")
        log.info("another message")
    finally:
        log.removeHandler(ear)
    assert told == ["another message"]
