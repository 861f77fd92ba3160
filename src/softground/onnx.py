"""The perception network as an ONNX file, for programs that do not have torch.

What is exported is the network alone, from inputs to one score for each site and symbol; the rule is not in it. The
file is checked before it counts: ONNX Runtime must give the same scores as torch, for one input as for several.

Needs the extra ``onnx``.
"""

from __future__ import annotations

import importlib
import json
import os
import warnings
from contextlib import redirect_stdout, suppress
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from .errors import SoftgroundError
from .files import temporary
from .spaces.base import Space

PACKAGES = ("onnx", "onnxscript", "onnxruntime")
TOLERANCE = 1e-4  # of the largest score; float32 sums in another order differ by some 1e-6


def export_onnx(network: nn.Module, x: Tensor, path: Path | str, space: Space | None = None) -> float:
    """Write ``network`` to ``path``; gives the largest difference between its scores and torch's.

    Parameters
    ----------
    network
        Is copied to the CPU in evaluation mode for this; where it was does not matter.
    x
        A few inputs, two at least: their shape is the file's input shape, with any number of rows.
    path
        The file, ``.onnx`` by habit. It is replaced as a whole, and only if the check succeeds.
    space
        Its symbols are written into the file's metadata under ``alphabets``: a JSON list of texts for each site.
    """
    _require()
    if len(x) < 2:
        raise SoftgroundError(f"{len(x)} inputs were given to export with; give two at least, to see what varies.")
    path, device, training = Path(path), next(network.parameters()).device, network.training
    x = x.detach().cpu()
    network.cpu().eval()
    new = temporary(path)
    try:
        _write(network, x, new, space)
        difference = _check(network, x, new)
        os.replace(new, path)
    except OSError as error:
        raise SoftgroundError(f"{path} cannot be written: {error}. Choose a file you may write to.") from error
    finally:
        with suppress(OSError):
            new.unlink(missing_ok=True)
        network.to(device).train(training)
    return difference


def _write(network: nn.Module, x: Tensor, path: Path, space: Any) -> None:
    with warnings.catch_warnings(), redirect_stdout(StringIO()):  # torch reports on its own progress
        warnings.simplefilter("ignore")
        try:
            program: Any = torch.onnx.export(
                network,
                (x,),
                dynamo=True,
                input_names=["x"],
                output_names=["scores"],
                verbose=False,
                dynamic_shapes=({0: torch.export.Dim("batch")},),
            )
        except Exception as error:
            raise SoftgroundError(
                f"torch cannot export this {type(network).__name__} to ONNX: {type(error).__name__}: {error}. Networks "
                "whose steps depend on the inputs' values cannot be written as a fixed graph."
            ) from error
    if space is not None and space.categorical:
        alphabets = [[str(symbol) for symbol in alphabet] for alphabet in space.alphabets]
        program.model.metadata_props["alphabets"] = json.dumps(alphabets)
        program.model.metadata_props["symbols"] = json.dumps([str(symbol) for symbol in space.symbols])
    path.parent.mkdir(parents=True, exist_ok=True)
    program.save(str(path), external_data=False)


def _check(network: nn.Module, x: Tensor, path: Path) -> float:
    """Compare torch and ONNX Runtime on one input and on all."""
    runtime: Any = importlib.import_module("onnxruntime")
    session = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    worst = 0.0
    for rows in (x[:1], x):
        with torch.no_grad():
            expected = network(rows).numpy()
        try:
            (given,) = session.run(["scores"], {"x": rows.numpy()})
        except Exception as error:
            raise SoftgroundError(
                f"ONNX Runtime cannot run the exported network on {len(rows)} inputs: {error}. The network must take "
                "any number of rows: use x.shape[0], not len(x), in its forward."
            ) from error
        difference = float(np.abs(given - expected).max())
        if not difference <= TOLERANCE * max(1.0, float(np.abs(expected).max())):
            raise SoftgroundError(
                f"The exported network's scores differ from torch's by up to {difference:.3g}; expected at most "
                f"{TOLERANCE:g} of the largest. Nothing was written: report this with the network and torch's version."
            )
        worst = max(worst, difference)
    return worst


def _require() -> None:
    absent = [name for name in PACKAGES if importlib.util.find_spec(name) is None]
    if absent:
        raise SoftgroundError(
            f"Export to ONNX needs {', '.join(absent)}, which {'is' if len(absent) == 1 else 'are'} not installed. "
            "Install the extra: pip install 'softground[onnx]'."
        )


__all__ = ["export_onnx"]
